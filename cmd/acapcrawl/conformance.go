package main

import "github.com/spf13/cobra"

func (c *Command) conformanceVerb() *cobra.Command {
	return c.group("conformance", "Try engines, crawlers and publishers' sites against what the documents demand",
		c.conformanceRun(), c.conformanceSite(), c.conformanceAudit())
}
