package main

import (
	"fmt"
	"os"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/cluster"
)

// aheadVariable is the environment variable that says by how much the clock of the program aheadProgram is ahead.
const aheadVariable, aheadProgram = "ACAPCRAWLTEST_CLOCK_AHEAD", "acapcrawl-ahead"

// runAhead is the program with a clock that differs from that of the machine.
func runAhead() {
	ahead, err := time.ParseDuration(os.Getenv(aheadVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(statusUsage)
	}
	run(cluster.SystemClock{Ahead: ahead})
}
