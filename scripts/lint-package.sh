#!/usr/bin/env bash
# Packs the package (which builds it) and checks the tarball as its users get it: publint, Are the types wrong?, and a
# strict program that imports every entry point from an installed copy, library declarations included.
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
cat >tsconfig.json <<'JSON'
{
  "compilerOptions": {
    "strict": true,
    "exactOptionalPropertyTypes": true,
    "noEmit": true,
    "target": "ES2022",
    "lib": ["ES2022", "ESNext.Disposable"],
    "module": "NodeNext",
    "skipDefaultLibCheck": true,
    "types": []
  },
  "files": ["main.ts"]
}
JSON
entries=("" /webgpu /opencl /host /devices /testing /testing/properties)
for entry in "${entries[@]}"; do
  echo "export * as entry${entry//\//_} from \"effect-gpu-pool$entry\""
done >main.ts
errors=$(tsc | grep -E '^(main\.ts|node_modules/effect-gpu-pool)' || true)
if [ -n "$errors" ]; then
  printf 'a program that uses the package does not compile:\n%s\n' "$errors" >&2
  exit 1
fi
for entry in "${entries[@]}"; do
  node --input-type=module -e "await import('effect-gpu-pool$entry')"
done
node node_modules/effect-gpu-pool/dist/cli/main.js devices --select host >/dev/null
echo "package: an installed copy compiles and loads"
