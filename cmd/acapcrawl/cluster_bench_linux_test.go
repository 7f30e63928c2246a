package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/test/arrivals"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
)

// share is the share of a processor that each node of BenchmarkClusterNodes gets, as a percentage.
const share = 15

// BenchmarkClusterNodes crawls pages that cost the client much CPU time with one node and with three. Each node gets
// the same share of a processor, by a cgroup; it needs root. Run it with -benchtime 1x on a quiet machine:
//
//	go test ./cmd/acapcrawl -run '^$' -bench ClusterNodes -benchtime 1x
//
// The metrics are pages/s in the middle of the crawl, how often that of one node it is (times), and the same ratio as
// the CPU time permits if each node gets its share (times-by-cpu), which other work on the machine hardly affects.
func BenchmarkClusterNodes(b *testing.B) {
	one, oneCPU := measureNodes(b, "one")
	three, threeCPU := measureNodes(b, "one", "two", "three")
	b.ReportMetric(one, "pages/s-of-one")
	b.ReportMetric(three, "pages/s-of-three")
	b.ReportMetric(three/one, "times")
	b.ReportMetric(oneCPU/threeCPU, "times-by-cpu")
	b.ReportMetric(0, "ns/op")
}

// measureNodes returns how many pages per second some nodes crawl, and the CPU time in seconds of the node that uses
// most.
func measureNodes(b *testing.B, names ...string) (speed, cpu float64) {
	b.Helper()
	p := calm()
	p.delay, p.partitions, p.limit = 200*time.Millisecond, 1024, 20*time.Minute
	p.web = arrivals.Options{Hosts: 300, Pages: 4, Seed: 1, Markup: 60 << 10}
	f := newJoint(b, p, natstest.One(b))
	for i, name := range names {
		group, n := limitCPU(b, name), node{name: name}
		if i == 0 {
			n.args = []string{f.web.Home()}
		}
		pid := fmt.Sprint(f.start(n).cmd.Process.Pid)
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	f.awaitEnd()
	r := f.judge()
	for _, name := range names {
		ended := f.node(name).cmd.ProcessState
		used := (ended.UserTime() + ended.SystemTime()).Seconds()
		b.Logf("%s of %d nodes: %.1f s CPU time", name, len(names), used)
		cpu = max(cpu, used)
	}
	starts := make([]time.Time, 0, r.Requests)
	for _, q := range f.web.Requests() {
		starts = append(starts, q.Start)
	}
	slices.SortFunc(starts, time.Time.Compare)
	from, to := len(starts)/5, len(starts)*4/5 // without the beginning, when few hosts are known, and the end
	return float64(to-from) / starts[to].Sub(starts[from]).Seconds(), cpu
}

// cpuGroups is where version 1 of cgroups has the controller of CPU time.
const cpuGroups = "/sys/fs/cgroup/cpu"

// limitCPU makes a cgroup that gets share. It skips the benchmark if that is not possible.
func limitCPU(b *testing.B, name string) string {
	b.Helper()
	group, err := os.MkdirTemp(cpuGroups, "acapcrawl-bench-"+name)
	if err != nil {
		b.Skip("CPU time cannot be limited here: ", err)
	}
	b.Cleanup(func() {
		if err := syscall.Rmdir(group); err != nil { // fails if the process has not ended
			b.Error(err)
		}
	})
	for file, value := range map[string]int{"cpu.cfs_period_us": 100_000, "cpu.cfs_quota_us": share * 1000} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(fmt.Sprint(value)), 0o600); err != nil {
			b.Skip("CPU time cannot be limited here: ", err)
		}
	}
	return group
}
