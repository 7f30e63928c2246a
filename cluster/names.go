package cluster

import (
	"fmt"
	"regexp"
	"strconv"
)

// The names of what a cluster stores in JetStream. One NATS account has one cluster.
const (
	nodesBucket   = "acapcrawl_nodes"   // node → lease; entries expire
	stateBucket   = "acapcrawl_state"   // the keys below
	journalStream = "acapcrawl_journal" // one subject per partition
	linksStream   = "acapcrawl_links"   // one subject per partition
	ordersStream  = "acapcrawl_orders"  // one subject per kind and key of orders
	doneBucket    = "acapcrawl_done"    // node → Progress

	settingsKey = "settings" // Settings
	tableKey    = "table"    // Table
	seedsKey    = "seeds"    // Seeds
	drainPrefix = "drain."   // and the name of a node: the epoch of the process that must hand over everything
	clockPrefix = "clock."   // and the name of a node: a value with which the node compares clocks

	journalPrefix = "acapcrawl.journal."
	linksPrefix   = "acapcrawl.links."
	hintPrefix    = "acapcrawl.hint." // and the number of a partition: there are new links
	callPrefix    = "acapcrawl.call."
	ordersPrefix  = "acapcrawl.orders."      // and a kind, and the hash of a key
	orderHint     = "acapcrawl.hint.orders"  // there are new orders
	readingHint   = "acapcrawl.hint.reading" // with an origin: somebody wants its policy to be read again
)

func journalSubject(partition int) string { return journalPrefix + strconv.Itoa(partition) }

func linksSubject(partition int) string { return linksPrefix + strconv.Itoa(partition) }

func hintSubject(partition int) string { return hintPrefix + strconv.Itoa(partition) }

// nodeName is what the name of a node may be, since it is part of subjects and keys.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckName returns an error if name cannot be the name of a node.
func CheckName(name string) error {
	if !nodeName.MatchString(name) {
		return fmt.Errorf("%q cannot be the name of a node: use at most 64 letters, digits, - and _", name)
	}
	return nil
}
