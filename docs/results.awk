# Makes the tables of docs/results.md from what benchstat -format csv prints; see "make results".

function three(x) { # three significant digits
	if (x >= 100) return sprintf("%.0f", x)
	if (x >= 10) return sprintf("%.1f", x)
	return sprintf("%.2f", x)
}

function grouped(x, s, out) { # a whole number with commas
	s = sprintf("%.0f", x)
	for (; length(s) > 3; s = substr(s, 1, length(s) - 3)) out = "," substr(s, length(s) - 2) out
	return s out
}

function rounded(x, unit) { # a whole number of three significant digits
	for (unit = 1; x / unit >= 1000; unit *= 10);
	return grouped(int(x / unit + 0.5) * unit)
}

function duration(s) {
	if (s < 1e-6) return three(s * 1e9) " ns"
	if (s < 1e-3) return three(s * 1e6) " µs"
	return three(s * 1e3) " ms"
}

function rate(x, unit) {
	if (unit == "B/s") return three(x / 1e6) " MB/s"
	return rounded(x) " " unit
}

function flush(i, u, n, rates) {
	if (count == 0) return
	printf "\n### %s\n\n| benchmark | time | spread | also | bytes | allocations |\n|---|---|---|---|---|---|\n", package
	for (i = 1; i <= count; i++) {
		n = names[i]
		rates = ""
		for (u in units) if ((n, u) in value) rates = rates (rates == "" ? "" : ", ") rate(value[n, u], u)
		printf "| %s | %s | %s | %s | %s | %s |\n", n, duration(value[n, "sec/op"]), spread[n], rates, grouped(value[n, "B/op"]), grouped(value[n, "allocs/op"])
	}
	count = 0
	delete value
	delete spread
	delete known
}

BEGIN {
	FS = ","
	print "## The work of each package\n"
	print "`make microbench` runs the benchmarks of each package by themselves, and `make results` makes"
	print "these tables of their output. Bytes and allocations are for each operation, which may be a"
	print "whole batch, page or file: the names say of how much.\n"
	print "Measured " about "."
}
/^pkg: / { flush(); sub(/^pkg: pixd\//, ""); package = $0; next }
/^,/ && $3 == "CI" { unit = $2; if (unit !~ /^(sec|B|allocs)\/op$/) units[unit]; next }
/^,|^geomean|^$|^[a-z]+: / { next }
{
	sub(/-[0-9]+$/, "", $1)
	if (!($1 in known)) { known[$1]; names[++count] = $1 }
	value[$1, unit] = $2
	if (unit == "sec/op") spread[$1] = $3 == "∞" ? "" : "± " $3
}
END { flush() }
