package cluster

import "strconv"

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
	budgetKey   = "budget"   // budget
	drainPrefix = "drain."   // and the name of a node: the epoch of the process that must hand over everything
	clockPrefix = "clock."   // and the name of a node: a value with which the node compares clocks

	journalPrefix = "acapcrawl.journal."
	linksPrefix   = "acapcrawl.links."
	hintPrefix    = "acapcrawl.hint." // and the number of a partition: there are new links
	callPrefix    = "acapcrawl.call."
	ordersPrefix  = "acapcrawl.orders."      // and a kind, and the hash of a key
	orderHint     = "acapcrawl.hint.orders"  // there are new orders
	readingHint   = "acapcrawl.hint.reading" // with an origin: somebody wants its policy to be read again
	askSubject    = "acapcrawl.ask"          // each node and reader answers with its NodeStatus
)

func journalSubject(partition int) string { return journalPrefix + strconv.Itoa(partition) }

func linksSubject(partition int) string { return linksPrefix + strconv.Itoa(partition) }

func hintSubject(partition int) string { return hintPrefix + strconv.Itoa(partition) }
