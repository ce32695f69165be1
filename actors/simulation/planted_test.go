package simulation

// plant is a bug put into the code on purpose: a simulation that does not find it
// would not find its like either.
type plant struct {
	name   string
	breaks string // what it breaks, in a line
	file   string // from the module's root
	old    string // stands there exactly once
	new    string
}

var plants = []plant{
	{
		"answer-before-durable", "an answer, a child or an acknowledgement leaves before its record is durable",
		"actors/account/shell.go",
		"s.machine.Submitted(s.Journal.Append(&entry))\n}",
		"out := entry.Out\n\tentry.Out = nil\n\ts.machine.Submitted(s.Journal.Append(&entry))\n\tfor _, o := range out {\n\t\to.Release(nil)\n\t}\n}",
	},
	{
		"read-before-durable", "a read shows what a restart may deny",
		"actors/account/shell.go",
		"if len(entry.Records) == 0 && len(entry.Ops) == 0 && s.machine.overlay.empty() && s.landed() {",
		"if len(entry.Records) == 0 && len(entry.Ops) == 0 {",
	},
	{
		"child-before-durable", "a payment leaves before its hold is durable",
		"actors/account/shell.go",
		"entry.Out = append(entry.Out, &errand{s.Around, *e.Start, then, done != nil})",
		"(&errand{s.Around, *e.Start, then, done != nil}).Release(nil)",
	},
	{
		"notice-acknowledged-early", "a notice is acknowledged before its record is durable: a crash loses it",
		"actors/account/shell.go",
		"entry.Out = append(entry.Out, acknowledged{done})",
		"done(nil)",
	},
	{
		"debited-twice", "word of a settlement that comes twice debits twice",
		"actors/ledger/decide_outcome.go",
		"if !t.Status.InFlight() {",
		"if !t.Status.InFlight() && c.Result != PayoutIsSettled {",
	},
	{
		"hold-released-twice", "word of a rejection that comes twice releases the hold twice",
		"actors/ledger/decide_outcome.go",
		"if !t.Status.InFlight() {",
		"if !t.Status.InFlight() && c.Result != PayoutIsRejected {",
	},
	{
		"fee-not-returned", "a payout that fails gives the amount back and keeps the fee held",
		"actors/ledger/account.go",
		"case PayoutRejected, PayoutRefused, PayoutFailed:\n\t\tpending = -r.Tx.Gross()",
		"case PayoutRejected, PayoutRefused, PayoutFailed:\n\t\tpending = -r.Tx.Amount",
	},
	{
		"replay-not-stored", "the claim is kept and its answer is not",
		"actors/account/machine.go",
		"r.Stored = &ledger.Stored{Status: status, Body: body}\n\t\ta.Stored = r.Stored",
		"a.Stored = &ledger.Stored{Status: status, Body: body}",
	},
	{
		"notice-by-end-to-end-id", "an outcome is matched by its end-to-end id alone, which payouts share",
		"actors/account/facts.go",
		"if t := m.work[id]; t != nil {\n\t\treturn t, nil\n\t}",
		"for _, key := range ledger.EndToEndKeys(endToEnd) {\n\t\tif row, ok, err := f.endToEnd(key); err == nil && ok && row.Account == f.account {\n\t\t\tid = row.ID\n\t\t}\n\t}\n\tif t := m.work[id]; t != nil {\n\t\treturn t, nil\n\t}",
	},
	{
		"filter-trusted-unfilled", "the filter over end-to-end rows is believed after a start before it was filled",
		"actors/keyed/filter.go",
		"if f == nil || !f.ready.Load() {",
		"if f == nil {",
	},
	{
		"claims-trusted-unwitnessed", "the claims of hours before the start are taken for none",
		"actors/keyed/hours.go",
		"if h == nil || first < max(h.from, 0) || last-first >= ring {",
		"if h == nil || last-first >= ring {",
	},
	{
		"overlay-ignored", "a fact is read past what is on its way to the disk",
		"actors/account/overlay.go",
		"if r, ok := f.overlay.rows[string(key)]; ok {\n\t\treturn r.value, r.value != nil, nil\n\t}\n\treturn f.store.Get(key)",
		"return f.store.Get(key)",
	},
	{
		"voided-unasked", "an orphan is voided while the scheme cannot be reached",
		"actors/payout/machine.go",
		"case r.Failed || r.Refused != nil:\n\t\treturn m.report(ledger.PayoutIsNotHeard)\n\tcase r.State.Progress == scheme.Settled",
		"case r.Failed || r.Refused != nil:\n\t\treturn m.report(ledger.PayoutIsVoided)\n\tcase r.State.Progress == scheme.Settled",
	},
	{
		"fresh-id-after-crash", "what a lost process may have sent is sent again under another end-to-end id",
		"actors/payout/machine.go",
		"t := &m.job.Tx\n\treturn scheme.Payment{",
		"t := m.job.Tx\n\tif m.job.Errand == Resume {\n\t\tt.EndToEnd, t.ID[15] = t.EndToEnd[:31]+\"z\", t.ID[15]+1\n\t}\n\treturn scheme.Payment{",
	},
	{
		"refusal-believed-in-doubt", "a refusal is taken at its word while an earlier submit may have arrived",
		"actors/payout/machine.go",
		"case m.doubt && (m.job.Errand != Clear || m.last == Lookup):\n\t\treturn m.open()\n\t}\n\tm.Outcome.Refusal = code",
		"}\n\tm.Outcome.Refusal = code",
	},
	{
		"refusal-believed-after-crash", "a refusal is taken at its word of what a lost process may have sent",
		"actors/payout/machine.go",
		"case m.doubt && (m.job.Errand != Clear",
		"case m.doubt && m.job.Errand != Resume && (m.job.Errand != Clear",
	},
	{
		"refusal-believed-for-good", "a refusal in doubt ends a payout for good, and an earlier submission settles",
		"actors/ledger/decide_outcome.go",
		"t.Unsure = t.Doubt\n",
		"",
	},
	{
		"submitted-before-sending", "a queued payout is submitted before `sending` is durable",
		"actors/payout/machine.go",
		"return m.report(ledger.PayoutIsSending)",
		"return m.next(Submit)",
	},
	{
		"return-credited-twice", "a return that is told twice is credited twice",
		"actors/account/facts.go",
		"here, err = f.received(id)",
		"_ = here",
	},
	{
		"payment-credited-twice", "a customer's payment that is told twice is credited twice",
		"actors/account/facts.go",
		"if out.Tx, err = f.received(c.EndToEnd); err == nil && out.Tx == nil {",
		"if err == nil {",
	},
	{
		"late-settlement-not-debited", "what settles after it was voided stays failed",
		"actors/ledger/decide_after.go",
		"case settled && t.Voided():",
		"case settled && t.Voided() && t.LateAt != 0:",
	},
	{
		"due-row-forgotten", "a change of status takes the old due row away and writes no new one",
		"actors/ledger/project.go",
		"return append(rows, Row{t.dueKey(r.Account), seqRow(r.Seq)})",
		"return rows",
	},
	{
		"mark-runs-ahead", "the scanner of due times passes over what is not due yet",
		"actors/due/cursor.go",
		"c.next = hi\n",
		"_, c.next = ledger.DueRange(c.kind, 0, ledger.Latest)\n",
	},
	{
		"stale-recent", "an outcome is judged by what the cache of accepted payouts had before",
		"actors/account/machine.go",
		"m.config.Recent.drop(r.Tx.ID)",
		"_ = r",
	},
	{
		"repeat-under-fresh-id", "an equal request soon after a settlement pays a second time",
		"actors/account/chain.go",
		"u.moved && (u.now.Doubted || u.now.Clock-u.since < window) ||\n",
		"",
	},
	{
		"unwritten-taken-for-written", "after a failed write, what was never queued counts as durable",
		"wal/paper.go",
		"return p.submitted + 1",
		"return p.submitted",
	},
	{
		"voided-under-doubt", "an orphan is voided by a clock that may be wrong by hours",
		"actors/ledger/decide_outcome.go",
		"return !d.stamp.Doubted && d.stamp.Clock >=",
		"return d.stamp.Clock >=",
	},
	{
		"window-ends-under-doubt", "a window of repeats ends by a clock that may be wrong by hours",
		"actors/account/chain.go",
		"u.moved && (u.now.Doubted || u.now.Clock-u.since < window)",
		"u.moved && u.now.Clock-u.since < window",
	},
	{
		"claim-ends-under-doubt", "an idempotency claim ends by a clock that may be wrong by hours",
		"actors/account/idempotency.go",
		"if !now.Doubted && row.Age(now) >= day {",
		"if row.Age(now) >= day {",
	},
	{
		"doubted-stamp-believed", "an age counts from a stamp that an earlier process took from a wrong clock",
		"actors/ledger/command.go",
		"if doubted {\n\t\treturn max(at, r.Start)\n\t}\n",
		"",
	},
	{
		"wall-clock-believed", "engine time follows the wall clock's jumps",
		"actors/clock/clock.go",
		"return c.base + c.from.Elapsed()",
		"return c.from.Wall()",
	},
	{
		"doubt-ends-by-any-word", "the scheme's word on the time ends the doubt whatever it says",
		"actors/clock/clock.go",
		"c.unsure.Store(!agrees)",
		"c.unsure.Store(false)",
	},
	{
		"foreign-suffix-given", "an account may name an end-to-end id that ends like one which another has derived",
		"actors/registry/endtoend.go",
		"found.Derived != 0 && found.Derived != c.Account:",
		"false:",
	},
	{
		"notice-of-another-id-believed", "a notice that names our payout with another end-to-end id is believed",
		"actors/ledger/decide_outcome.go",
		"if c.Notice && d.namesAnother(&t, c.EndToEnd) {",
		"if c.Notice && c.EndToEnd == \"\" {",
	},
	{
		"renewed-apart", "two equal payouts that have waited go out under two fresh ids",
		"actors/account/chain.go",
		"c.EndToEnd, c.Holder = others.endToEnd, others.holder",
		"c.Holder = others.holder",
	},
	{
		"unwritten-let-out", "what was decided on an entry that was refused leaves all the same",
		"actors/account/shell.go",
		"if len(entry.Records) == 0 {\n\t\ts.holdToWritten(entry.Out)\n\t}\n",
		"",
	},
	{
		"returned-forgotten", "a second partial return takes the first one's place",
		"actors/ledger/decide_after.go",
		"t.Returned += c.Amount",
		"t.Returned = c.Amount",
	},
	{
		"hold-beyond-available", "a payout is held that is a base unit more than what is available",
		"actors/ledger/decide_payout.go",
		"if gross <= d.totals.Available() {",
		"if gross <= d.totals.Available()+1 {",
	},
	{
		"control-asked-once", "the control on companies does not look at whom the directory names",
		"actors/payout/machine.go",
		"if m.job.Refuses != nil && m.job.Refuses(r.Owner.Document) {",
		"if m.job.Refuses != nil && r.Owner.Document == \"\" {",
	},
	{
		"void-believes-no-answer", "a settlement that the scheme tells when it is asked last is not taken",
		"actors/payout/machine.go",
		"case r.State.Progress == scheme.Settled || r.State.Progress == scheme.Rejected:",
		"case r.State.Progress == scheme.Rejected:",
	},
	{
		"put-off-for-good", "what was put off is not visited again where the memory of it is full",
		"actors/due/lane.go",
		"if l.passes(d) || k.front.before(d) {",
		"if l.passes(d) || d.At < s.now {",
	},
	{
		"old-terms", "a fee is worked out from the terms of the opening, whatever they were changed to",
		"actors/ledger/account.go",
		"case SettingsChanged:\n\t\ta.Settings = *r.Settings",
		"case SettingsChanged:\n\t\tfee := a.Settings.CashOutFee\n\t\ta.Settings = *r.Settings\n\t\ta.Settings.CashOutFee = fee",
	},
	{
		"sent-while-inactive", "a queued payout of an account that is not active goes out",
		"actors/account/machine.go",
		"return c.Result == ledger.PayoutIsSending",
		"return c.Result == ledger.PayoutIsSending && c.Doubt",
	},
	{
		"owner-forgotten", "a later child's report takes away what an earlier one learned of the recipient",
		"actors/payout/machine.go",
		"Document: j.Tx.OwnerDocument, ISPB: j.Tx.OwnerISPB}",
		"Document: j.Tx.OwnerDocument}",
	},
	{
		"queue-by-stamp", "the time in the queue counts from a stamp that stands still",
		"actors/ledger/decide_outcome.go",
		"t.QueueEnds = d.stamp.Clock + d.stamp.Terms.QueueTTL",
		"t.QueueEnds = d.stamp.Time + d.stamp.Terms.QueueTTL",
	},
	{
		"control-forgotten-in-doubt", "what is resumed after a crash goes to a company that the account's control keeps money from",
		"actors/payout/machine.go",
		"\tcase m.job.Refuses != nil && m.job.Refuses(m.Outcome.Owner.Document):\n\t\treturn m.open() // as it was when the directory named the owner: see refused\n",
		"",
	},
}
