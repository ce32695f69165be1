package simulation

// nodeMutations are mutations that the lives of several nodes must find, those of cmd/cluster.
var nodeMutations = []mutation{
	{
		"append-anywhere", "the log takes a batch from a node that does not know where it ends",
		"wal/waltest/tape.go",
		"if end != after || node.version != deposed.Version {",
		"if node.version != deposed.Version {",
	},
	{
		"valid-from-the-answer", "a node is certain from the answer to its renewal, and not from its sending",
		"cmd/cluster/node.go",
		"n.lease.renewed(r.sent)",
		"n.lease.renewed(n.elapsed())",
	},
	{
		"certain-for-too-long", "a node is certain for longer than another waits",
		"cmd/cluster/lease.go",
		"certainFor = 1500 * time.Millisecond",
		"certainFor = 2500 * time.Millisecond",
	},
	{
		"owner-before-the-log", "a node serves once it has asked to be the owner, and not once the log says so",
		"cmd/cluster/takeover.go",
		"return n.log.Take(ctx, logNumber, after, t.deposed, batch)",
		"if err := n.log.Take(ctx, logNumber, after, t.deposed, batch); err == wal.ErrMoved {\n\t\treturn err\n\t}\n\treturn n.store.Apply(after+1, batch)",
	},
	{
		"taken-over-at-once", "a node takes over without waiting until the owner can no longer be certain",
		"cmd/cluster/takeover.go",
		"return t, now-n.ownerBeat >= takeAfter+wait",
		"return t, now-n.ownerBeat >= wait",
	},
	{
		"not-deposed", "the former owner may renew its state after it has been taken over from",
		"cmd/cluster/takeover.go",
		"n.log.Take(ctx, logNumber, after, t.deposed, batch)",
		"n.log.Take(ctx, logNumber, after, wal.NodeVersion{}, batch)",
	},
	{
		"taken-over-from-another", "a node takes over from whoever is the owner by now, as it decided when there was another",
		"cmd/cluster/takeover.go",
		"case !due || still != t:",
		"case still.from.Name == n.name && !due:",
	},
	{
		"memory-kept", "a taker goes on with what it had read before it followed the log to its end",
		"cmd/cluster/sim_steps_test.go",
		"\tp.n.become(roleStandby)\n\tp.in(stepLook, 0)",
		"\tp.n.become(roleStandby)\n\tp.memory = openBooks(p)\n\tp.in(stepLook, 0)",
	},
	{
		"timeout-taken-for-refusal", "a client is told that its entry was refused when the log has not answered",
		"wal/lead.go",
		"\t\tw.s.opts.Log.Warn(\"wal: the log does not take a batch; trying on\"",
		"\t\tfor _, e := range w.m.entries {\n\t\t\trefuse(e, ErrSequence)\n\t\t\te.Out = nil\n\t\t}\n\t\tw.s.opts.Log.Warn(\"wal: the log does not take a batch; trying on\"",
	},
	{
		"moved-taken-for-done", "a batch that the log has refused for good is released",
		"wal/lead.go",
		"return fmt.Errorf(\"batch %d: %w\", w.m.newest.Position, ErrFenced)",
		"return nil",
	},
	{
		"answer-before-the-log", "an answer leaves before the log has its batch",
		"wal/writer.go",
		"\tn := w.fill()\n",
		"\tn := w.fill()\n\tfor i, e := range w.m.entries {\n\t\tif w.m.refused[i] == nil && len(e.Records) > 0 {\n\t\t\tw.s.release(e.Out)\n\t\t\te.Out = nil\n\t\t}\n\t}\n",
	},
	{
		"notice-before-the-log", "a notice is acknowledged before the log has its record",
		"cmd/cluster/sim_books_test.go",
		"Value: eight(1)}, then)",
		"Value: eight(1)}, func(error) {})\n\tthen(nil)",
	},
	{
		"read-of-the-fenced", "what a node reads leaves although it is no longer certain to be the owner",
		"wal/gate.go",
		"if s.shared != nil && len(outs) > 0 && (s.shared.resigned.Load() || !s.certain()) {",
		"if s.shared == nil && !s.certain() {",
	},
	{
		"trimmed-past-the-slowest", "the log is trimmed up to what the owner has, whatever the others have",
		"cmd/cluster/keep.go",
		"upto = min(upto, is.Synced)",
		"upto = max(upto, is.Synced)",
	},
	{
		"watch-believed", "a node applies whatever batch a watch brings",
		"wal/shared.go",
		"\tif err != nil {\n\t\treturn &OutOfPlace{position, err}\n\t}\n\ttaken, err := s.takeOps(h, ops)",
		"\tif _, _, bad := decodeLogHeader(batch); bad != nil {\n\t\treturn &OutOfPlace{position, bad}\n\t}\n\ttaken, err := s.takeOps(h, ops)",
	},
	{
		"filters-kept", "a taker goes on with the filter over the notices that it had filled before it followed the log to its end",
		"cmd/cluster/sim_steps_test.go",
		"\tp.n.become(roleStandby)\n\tp.in(stepLook, 0)",
		"\tp.n.become(roleStandby)\n\tp.noticed = fillNoticed(p)\n\tp.in(stepLook, 0)",
	},
	{
		"synced-before-the-disk", "a node says that it has on its disk what it has in memory",
		"wal/anchor.go",
		"return errors.Join(s.syncShared(), s.writeAnchor(h))",
		"return s.writeAnchor(h)",
	},
}
