package address

import (
	"fmt"
	"testing"
)

func TestPartitionUnit(t *testing.T) {
	const n = 1024
	same := [][]string{
		{"example.com", "www.example.com", "m.example.com:8080", "example.com:443"},
		{"example.co.uk", "img.example.co.uk"},
		{"127.0.0.1", "127.0.0.1:8080", "127.0.0.1:9090"},
		{"[::1]", "[::1]:8080", "::1"},
		{"localhost", "localhost:8080"},
	}
	seen := map[int]string{}
	for _, group := range same {
		first := Partition(group[0], n)
		for _, host := range group[1:] {
			if p := Partition(host, n); p != first {
				t.Errorf("%s is in partition %d, %s in %d", host, p, group[0], first)
			}
		}
		if other, is := seen[first]; is {
			t.Errorf("%s and %s are in one partition", group[0], other)
		}
		seen[first] = group[0]
	}
}

// The numbers are stored in a cluster, so they must never change.
func TestPartitionStable(t *testing.T) {
	for host, want := range map[string]int{"example.com": 677, "127.0.1.7:80": 410, "[2001:db8::1]": 791} {
		if p := Partition(host, 1024); p != want {
			t.Errorf("%s is in partition %d, want %d", host, p, want)
		}
	}
}

func TestPartitionSpread(t *testing.T) {
	for _, form := range []string{"host%d.example%d.com", "127.0.%d.%[1]d"} {
		count := make([]int, 16)
		for i := range 16000 {
			count[Partition(fmt.Sprintf(form, i%256, i), len(count))]++
		}
		for p, n := range count {
			if form[0] == 'h' && (n < 850 || n > 1150) || n == 0 {
				t.Errorf("%s: partition %d has %d of 16000 hosts", form, p, n)
			}
		}
	}
}
