package natstest

import (
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// node is a server of a Cluster that runs.
type node interface {
	// ask returns the answer to a question, 0 if the server cannot answer.
	ask(question string) int
	// kill ends the server and waits until it has ended.
	kill()
	// pause stops the server without ending it. If it cannot, it returns an error.
	pause() error
	resume() error
}

// local is a server in this process.
type local struct{ *server.Server }

func startLocal(p place) (node, error) {
	s, err := start(p.options())
	if err != nil {
		return nil, err
	}
	return local{s}, nil
}

func (l local) ask(question string) int {
	n, _ := strconv.Atoi(answer(l.Server, question))
	return n
}

func (l local) kill()         { shutdown(l.Server) }
func (l local) pause() error  { return errLocal }
func (l local) resume() error { return errLocal }
