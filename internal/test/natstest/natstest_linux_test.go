package natstest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/acapcrawl/acapcrawl/internal/test/oneway"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// bucket connects to the cluster and makes a key-value bucket on all its servers.
func bucket(t *testing.T, c *Cluster) jetstream.KeyValue {
	t.Helper()
	return bucketAt(t, c, c.URL())
}

// bucketAt does so at other addresses.
func bucketAt(t *testing.T, c *Cluster, urls string) jetstream.KeyValue {
	t.Helper()
	conn, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(limit); ; { // on a busy machine it takes a while until there is a leader
		kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B", Replicas: c.Len()})
		if err == nil {
			return kv
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// put stores a value, and repeats this until a server confirms it.
func put(t *testing.T, kv jetstream.KeyValue, value string) {
	t.Helper()
	for end := time.Now().Add(limit); ; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := kv.PutString(ctx, "k", value)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// get waits until a server answers with the value. Any server may answer, also one that has not
// caught up.
func get(t *testing.T, kv jetstream.KeyValue, want string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		e, err := kv.Get(t.Context(), "k")
		if err == nil && string(e.Value()) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the value is %v, %v, want %s", e, err, want)
		}
	}
}

const stream = "KV_B"

func TestLocal(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	kv := bucket(t, c)
	put(t, kv, "one")
	old := c.AwaitLeader(stream)
	c.Kill(old)
	put(t, kv, "two")
	if leader := c.AwaitLeader(stream); leader == old {
		t.Errorf("server %d leads, but it does not run", leader)
	}
	c.Restart(old)
	c.AwaitWhole()
	get(t, kv, "two")
}

func TestKilled(t *testing.T) {
	t.Parallel()
	c := StartProcesses(t, 3)
	kv := bucket(t, c)
	put(t, kv, "one")
	old := c.AwaitLeader(stream)
	c.Kill(old)
	put(t, kv, "two")
	if leader := c.AwaitLeader(stream); leader == old {
		t.Errorf("server %d leads, but it was killed", leader)
	}
	c.Restart(old)
	c.AwaitWhole()

	// All are killed: what was confirmed is still there.
	for i := range c.Len() {
		c.Kill(i)
	}
	if leader := c.Leader(stream); leader != -1 {
		t.Errorf("server %d leads, but none runs", leader)
	}
	for i := range c.Len() {
		c.Restart(i)
	}
	c.AwaitWhole()
	c.AwaitLeader(stream)
	get(t, kv, "two")
}

func TestPaused(t *testing.T) {
	t.Parallel()
	c := StartProcesses(t, 3)
	kv := bucket(t, c)
	put(t, kv, "one")
	old := c.AwaitLeader("")
	c.Pause(old)
	if leader := c.AwaitLeader(""); leader == old {
		t.Errorf("server %d leads, but it is paused", leader)
	}
	c.Resume(old)
	c.AwaitWhole()
	put(t, kv, "two")

	// Without a quorum there is no leader, and nothing is confirmed.
	c.Pause(0)
	c.Pause(1)
	if leader := c.Leader(""); leader != -1 {
		t.Errorf("server %d leads without a quorum", leader)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := kv.PutString(ctx, "k", "three"); err == nil {
		t.Error("a value was stored without a quorum")
	}
	c.Resume(0)
	c.Kill(1) // while it is paused
	put(t, kv, "four")
}

// A client that was given addresses of proxies uses no others. What it sends may count although it
// hears no answer.
func TestProxies(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	var proxies []*oneway.Proxy
	var urls []string
	for i := range c.Len() {
		p, err := oneway.Start(c.Addr(i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		proxies = append(proxies, p)
		urls = append(urls, "nats://"+p.Addr())
	}
	kv := bucketAt(t, c, strings.Join(urls, ","))
	put(t, kv, "one")
	for _, p := range proxies {
		p.Drop(oneway.ToClient)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := kv.PutString(ctx, "k", "two"); err == nil {
		t.Error("an answer came round the proxies")
	}
	get(t, bucket(t, c), "two")
	for _, p := range proxies {
		p.Heal()
	}
	put(t, kv, "three")
	get(t, kv, "three")
}

// The servers end when the test process is killed, also those that are paused.
func TestOrphans(t *testing.T) {
	t.Parallel()
	if os.Getenv("ACAPCRAWL_NATSTEST_ORPHANS") != "" {
		c := StartProcesses(t, 2)
		c.Pause(1)
		for _, n := range c.nodes {
			fmt.Println("server", n.(*process).cmd.Process.Pid)
		}
		select {} // until it is killed
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOrphans$")
	cmd.Env = append(os.Environ(), "ACAPCRAWL_NATSTEST_ORPHANS=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var servers []int
	for lines := bufio.NewScanner(out); len(servers) < 2 && lines.Scan(); {
		if word, rest, _ := strings.Cut(lines.Text(), " "); word == "server" {
			n, _ := strconv.Atoi(rest)
			servers = append(servers, n)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // it was killed
	if len(servers) != 2 {
		t.Fatalf("there are %d servers", len(servers))
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); slices.ContainsFunc(servers, alive); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("a server still runs")
		}
	}
}

// alive reports whether a process runs. One that has ended and was not waited for does not run.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
