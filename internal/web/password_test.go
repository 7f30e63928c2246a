package web

import (
	"strings"
	"testing"
)

func TestPassword(t *testing.T) {
	hash := HashPassword(password)
	if again := HashPassword(password); again == hash || strings.Contains(hash, password) {
		t.Error(hash)
	}
	if err := CheckHash(hash); err != nil {
		t.Fatal(err)
	}
	// the hash of U*U was made with another program
	for _, c := range []struct {
		hash, password string
		want           bool
	}{
		{hash, password, true},
		{hash, password + " ", false},
		{hash, "", false},
		{"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U", true},
		{"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*V", false},
		{"", "", false},
		{"", "x", false},
		{"x", "x", false},
	} {
		p := passwords{hash: c.hash, turn: make(chan struct{}, 1)}
		if got, err := p.admits(t.Context(), c.password); got != c.want || err != nil {
			t.Errorf("%q %q: %v, %v", c.hash, c.password, got, err)
		}
	}
	for _, bad := range []string{"", "x", "$argon2id$", strings.Replace(hash, "m=32768", "m=99999999", 1),
		strings.Replace(hash, "t=3", "t=0", 1), strings.Replace(hash, "t=3", "t=9999", 1),
		strings.Replace(hash, "p=1", "p=0", 1), strings.Replace(hash, "v=19", "v=16", 1),
		hash[:len(hash)-30], hash + "$",
		"$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"} {
		if err := CheckHash(bad); err == nil || strings.Contains(err.Error(), "$") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
