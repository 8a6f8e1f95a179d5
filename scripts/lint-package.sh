#!/usr/bin/env bash
# Packs the packages as they are built, installs them in empty folders and uses them there (scripts/package), and checks the tarballs:
# publint, Are the types wrong?, and strict programs that import every entry point, under each compiler (scripts/consumers.ts).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

node scripts/package/main.ts "$scratch"

modules=$scratch/consumer/node_modules
mkdir -p "$modules"
# every dependency but the packages themselves, as an install would place them
for dependency in node_modules/*; do ln -s "$root/$dependency" "$modules/"; done
rm "$modules"/effect-gpu-pool "$modules"/effect-schedules "$modules"/@effect-gpu-pool
for tarball in "$scratch"/*.tgz; do
  name=$(tar -xzOf "$tarball" package/package.json | node -p 'JSON.parse(fs.readFileSync(0, "utf8")).name')
  publint --strict "$tarball"
  # the command has nothing to import
  [ "$name" = @effect-gpu-pool/cli ] || attw --profile esm-only --quiet "$tarball" || attw --profile esm-only "$tarball"
  mkdir -p "$modules/$name"
  tar -xzf "$tarball" -C "$modules/$name" --strip-components=1
done

cd "$scratch/consumer"
cat >package.json <<'JSON'
{ "type": "module" }
JSON
entries=$(node -p '
  ["effect-gpu-pool", "effect-schedules", ...fs.readdirSync("node_modules/@effect-gpu-pool").map((name) => "@effect-gpu-pool/" + name)]
    .flatMap((name) =>
      Object.keys(JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`, "utf8")).exports)
        .filter((path) => path !== "./package.json").map((path) => name + path.slice(1)))
    .join("\n")
')
for entry in $entries; do
  echo "export * as ${entry//[^a-zA-Z]/_} from \"$entry\""
done >entries.ts
cp "$root"/scripts/consumer/*.ts .
cp -r "$root"/examples/backend .
node "$root/scripts/consumers.ts" .
