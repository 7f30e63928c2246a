package main

import "github.com/spf13/cobra"

func (c *Command) conformanceVerb() *cobra.Command {
	return c.group("conformance", "Test engines, crawlers and sites against the specifications",
		c.conformanceRun(), c.conformanceSite(), c.conformanceAudit())
}
