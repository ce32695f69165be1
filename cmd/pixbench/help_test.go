package main

import (
	"testing"

	"pixd/cmd/helptest"
)

// TestHelp checks the help of every command.
func TestHelp(t *testing.T) { helptest.Check(t, root()) }

// TestManualPages makes the manual pages; make release keeps them.
func TestManualPages(t *testing.T) { helptest.ManualPages(t, root()) }
