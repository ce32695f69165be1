// Package simulation runs the whole engine in one goroutine. A run from one seed is called a
// life: the seed decides everything that happens in it, and the same seed repeats it bit for
// bit. A life contains the machines and shells of accounts, payouts, registry, due times and
// journal, the scheme's simulator, and clients and operators who send requests. Meanwhile the
// process crashes, disks fail, messages are lost, doubled, late and out of order, and clocks
// jump. After each life the tests check the records, the balances and every answer that was
// given.
//
//	make sim                 lives from fresh seeds
//	make sim SEED=7          the life of seed 7
//	make sim N=10000         10,000 lives instead of 1,000
package simulation
