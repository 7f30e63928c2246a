package active

import (
	"slices"
	"testing"
)

func TestSwitch(t *testing.T) {
	table := 0
	Table(func() { table = Or(3, 30, 10) })
	for _, c := range []struct {
		on, zero, table int
		set             uint8
		key             string
	}{{0, 7, 10, 0b101, "k"}, {1, 0, 10, 0b101, "k"}, {2, 7, 10, 0b101, "\x00lost"}, {3, 7, 30, 0b101, "k"}, {5, 7, 10,
		0b111, "k"}} {
		Set(c.on)
		if z, s, k := Zero(1, 7), Bits(4, 3, uint8(0b101)), Lost(2, "k"); z != c.zero || s != c.set || k != c.key ||
			table != c.table {
			t.Errorf("with mutant %d: %d, %b, %q, table %d", c.on, z, s, k, table)
		}
	}
	Set(0)
	reached := Reached(func() { On(8); On(9); On(8) })
	slices.Sort(reached)
	if !slices.Equal(reached, []int{8, 9}) || On(8) {
		t.Errorf("reached %v", reached)
	}
}
