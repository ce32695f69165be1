// Package simulation lives whole lives of the engine in one goroutine, each decided
// by a seed and repeatable from it bit for bit: the machines and shells of
// accounts, payouts, registry, due times and journal, the scheme's simulator, and
// clients and operators who use them, while the power goes, disks fail, messages
// are lost, doubled, late and out of order, and clocks jump. After each life the
// books are judged.
//
//	make sim                 lives from fresh seeds
//	make sim SEED=7          one life again
//	make sim N=10000         more of them
package simulation
