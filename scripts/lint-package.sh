#!/usr/bin/env bash
# Packs the package (which builds it) and checks the tarball as its users get it: publint, Are the types wrong?, and
# strict programs that import every entry point from an installed copy, under each compiler (scripts/consumers.ts).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

npm pack --silent --pack-destination "$scratch" >/dev/null
tarball=$(echo "$scratch"/*.tgz)

publint --strict "$tarball"
attw --profile esm-only --quiet "$tarball" || attw --profile esm-only "$tarball"

installed=$scratch/consumer/node_modules/effect-gpu-pool
mkdir -p "$installed"
tar -xzf "$tarball" -C "$installed" --strip-components=1
# every dependency but the package itself, as an install would place them
for dependency in "$root"/node_modules/*; do ln -s "$dependency" "$scratch/consumer/node_modules/"; done

cd "$scratch/consumer"
cat >package.json <<'JSON'
{ "type": "module" }
JSON
entries=$(node -p '
  const { exports, name } = JSON.parse(fs.readFileSync("node_modules/effect-gpu-pool/package.json", "utf8"))
  Object.keys(exports).filter((path) => path !== "./package.json").map((path) => name + path.slice(1)).join("\n")
')
for entry in $entries; do
  node --input-type=module -e "await import('$entry')"
done
echo "package: an installed copy loads"

for entry in $entries; do
  echo "export * as ${entry//[^a-zA-Z]/_} from \"$entry\""
done >entries.ts
cp "$root"/scripts/consumer/*.ts .
cp -r "$root"/examples/backend .
node "$root/scripts/consumers.ts" .
node "$root/scripts/package/main.ts" "$tarball"
