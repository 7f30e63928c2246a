package disk

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name+".new", []byte("left by a process that was killed"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "another"} {
		if err := Replace(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(name + ".new"); err == nil {
		t.Error("a file is left")
	}
	if err := Replace(filepath.Join(name, "below"), nil, 0o600); err == nil {
		t.Error("a file in a file")
	}
}

func TestRoom(t *testing.T) {
	dir := t.TempDir()
	const mb = 1_000_000
	now, total := int64(900*mb), int64(1000*mb)
	r := NewRoom(dir, Options{Least: Auto, Free: func(string) (int64, int64, error) {
		var held int64
		if info, err := os.Stat(filepath.Join(dir, reserveName)); err == nil {
			held = info.Size()
		}
		return now - held, total, nil
	}})
	exists := func() bool { _, err := os.Stat(filepath.Join(dir, reserveName)); return err == nil }
	step := func(what string, free int64, reserve, scarce bool) {
		t.Helper()
		now = free
		if exists() != reserve || r.Scarce() != scarce {
			t.Errorf("%s: reserve %v, scarce %v", what, exists(), r.Scarce())
		}
	}
	step("new", 900*mb, false, false)
	if err := r.Keep(); err != nil {
		t.Fatal(err)
	}
	step("kept", 900*mb, true, false)
	r.Make()
	step("room enough", 900*mb, true, false)
	step("20 MB beside the reserve", 29*mb, true, false)
	step("less than that", 28*mb, true, true)
	now = 9 * mb
	r.Make()
	step("given up", 9*mb, false, true)
	if err := r.Keep(); err != nil {
		t.Fatal(err)
	}
	step("too little to keep it", 9*mb, false, true)
	step("what is missing of the reserve is not free", 28*mb, false, true)
	total = 64 << 20 // a small disk has a small reserve
	now = 20 * mb
	if err := r.Keep(); err != nil || !exists() {
		t.Fatal(err)
	}
	if info, err := os.Stat(r.name()); err != nil || info.Size() != 4<<20 {
		t.Errorf("%v, %v", info, err)
	}
}
