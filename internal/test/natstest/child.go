package natstest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// variable is the environment variable that makes Main run a server. Its value is a place in JSON.
const variable = "ACAPCRAWL_NATSTEST"

// Main runs a server and exits if StartProcesses started this process. Otherwise it returns at once.
// A test binary that uses StartProcesses must call it at the start of TestMain.
func Main() {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	if err := child(text); err != nil {
		fmt.Fprintln(os.Stderr, "natstest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child runs a server until its standard input ends, which happens at the latest when the test
// process ends, however it ends. Each line of the input is a number and a question, and each line of
// the output is this number and the answer.
func child(text string) error {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	s, err := start(p.options())
	if err != nil {
		return err
	}
	fmt.Println(ready)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		number, question, _ := strings.Cut(lines.Text(), " ")
		fmt.Println(number, answer(s, question))
	}
	return nil
}

// ready is what a child prints when its server accepts connections.
const ready = "ready"

// The questions to a server.
const (
	// Does the server lead the stream whose name follows? Without a name: the cluster (meta group).
	askLeads = "leads "
	// How many servers does the cluster have? 0 if the server does not lead the cluster.
	askPeers = "peers"
	// Has the server recovered its streams and consumers, and caught up with their leaders?
	askHealthy = "healthy"
)

// answer answers a question with a number. 1 means yes, 0 no.
func answer(s *server.Server, question string) string {
	yes := false
	switch name, leads := strings.CutPrefix(question, askLeads); {
	case question == askPeers:
		return strconv.Itoa(len(s.JetStreamClusterPeers()))
	case question == askHealthy:
		yes = s.Healthz(&server.HealthzOptions{}).StatusCode == 200 // an empty Error is not enough
	case leads && name == "":
		yes = s.JetStreamIsLeader()
	case leads:
		yes = s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, name)
	}
	if yes {
		return "1"
	}
	return "0"
}
