#!/usr/bin/env bash
# Builds a release into bin/release: for each processor static binaries, packages and an archive,
# and for all of them manual pages, completion, a bill of materials and checksums. The same
# commit and VERSION give the same bytes, in whatever folder. Called by make release, which
# names the tools.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${VERSION:?}" "${COMMIT:?}" "${PROFILE:?}" "${NFPM:?}" "${SBOM:?}"
ARCHITECTURES=${ARCHITECTURES:-amd64 arm64}
OUT=${OUT:-$PWD/bin/release}
WORK=$PWD/bin/work

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC CGO_ENABLED=0
umask 022

# package_version writes a version as package managers order it: 1.2.0-rc1 comes before 1.2.0,
# and what git describe calls 1.2.0-4-g0123abc after it.
package_version() {
	local v=${1#v}
	v=$(sed -E 's/-dirty$/+dirty/; s/-([0-9]+)-g([0-9a-f]+)/+\1.g\2/; s/-/~/g' <<<"$v")
	[[ $v == [0-9]*.* ]] || v="0.0.0~$v"
	echo "$v"
}

binaries() { # ARCH
	local name
	for name in pixd pixbench; do
		GOARCH=$1 go build -trimpath -buildvcs=false -pgo="$PROFILE" \
			-ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o "$WORK/$1/$name" "./cmd/$name"
	done
}

# pages makes what is the same for every processor, by the binaries of this machine's.
pages() {
	local name shell
	mkdir -p "$WORK/completion"
	for name in pixd pixbench; do
		env -u CGO_ENABLED go test -vet=off "./cmd/$name" -run '^TestManualPages$' -count=1 -man.dir "$WORK/man"
		for shell in bash zsh fish; do
			"$WORK/$(go env GOHOSTARCH)/$name" completion "$shell" >"$WORK/completion/$name.$shell"
		done
	done
	gzip -9n "$WORK"/man/*.1
	licenses >"$WORK/licenses.txt"
}

# licenses prints the licence of Go and of every module and file of others that is in the binaries.
licenses() {
	local file module dir
	echo "Go's standard library and runtime"
	cat "$(go env GOROOT)/LICENSE"
	go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/pixd ./cmd/pixbench | sort -u |
		while read -r module version dir; do
			printf '\n%s\n%s %s\n' "----------------------------------------" "$module" "$version"
			for file in "$dir"/LICEN[CS]E* "$dir"/COPYING* "$dir"/NOTICE* "$dir"/[lL]icen[cs]e*; do
				[ ! -f "$file" ] || cat "$file"
			done
		done
	printf '\n%s\n%s\n' "----------------------------------------" "Swagger UI, at /docs"
	cat httpapi/reference/swagger-ui/*LICENSE*
}

packages() { # ARCH
	local name format
	for name in pixd pixbench; do
		for format in deb rpm; do
			GOARCH=$1 STAGE=$WORK/stage PACKAGE_VERSION=$(package_version "$VERSION") \
				"$WORK/nfpm" package --config ".package/$name.yaml" --packager $format --target "$OUT/"
		done
	done
}

# materials writes what each binary is made of, as it says itself.
materials() { # ARCH
	local name
	for name in pixd pixbench; do
		"$WORK/cyclonedx-gomod" bin -json -noserial -notimestamp -std -version "$VERSION" \
			-output "$OUT/$name-${VERSION#v}-linux-$1.cdx.json" "$WORK/$1/$name"
	done
}

archive() { # ARCH
	local top=pixd-${VERSION#v}-linux-$1
	rm -rf "${WORK:?}/$top"
	cp -r "$WORK/stage" "$WORK/$top"
	cp README.md CHANGELOG.md .package/pixd.service .package/pixd.env "$WORK/$top/"
	mkdir -p "$WORK/$top/docs/openapi"
	cp docs/*.md "$WORK/$top/docs/"
	cp docs/openapi/*.yaml "$WORK/$top/docs/openapi/"
	tar -C "$WORK" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' -cf - "$top" |
		gzip -9n >"$OUT/$top.tar.gz"
}

rm -rf "$OUT" "$WORK"
mkdir -p "$OUT" "$WORK"
for arch in $(printf '%s\n' $ARCHITECTURES "$(go env GOHOSTARCH)" | sort -u); do
	binaries "$arch"
done
pages
GOBIN=$WORK go install "$NFPM"
GOBIN=$WORK go install "$SBOM"
for arch in $ARCHITECTURES; do
	rm -rf "$WORK/stage"
	mkdir "$WORK/stage"
	cp -r "$WORK/$arch/." "$WORK/man" "$WORK/completion" "$WORK/licenses.txt" "$WORK/stage/"
	packages "$arch"
	archive "$arch"
	materials "$arch"
done
(cd "$OUT" && sha256sum -- * >SHA256SUMS)
rm -r "$WORK"
ls -l "$OUT"
