module merchant

go 1.24
