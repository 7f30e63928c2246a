package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

func placesOf(spots ...Spot) []place {
	out := make([]place, len(spots))
	for i, s := range spots {
		out[i] = place(s.Form)<<positionBits | place(s.Position)
	}
	return out
}

// encoded returns a list of numbers in the encoding of a segment.
func encoded(numbers ...uint64) []byte {
	for len(numbers) < 3 {
		numbers = append(numbers, 0)
	}
	out := []byte{7}
	for i, n := range numbers {
		if i == 3 {
			out = binary.AppendUvarint(out, uint64(len(numbers)-3))
		}
		out = binary.AppendUvarint(out, n)
	}
	if len(numbers) == 3 {
		out = append(out, 0)
	}
	return out
}

func TestLengths(t *testing.T) {
	last := 0.0
	for n := uint32(1); n < 1<<18; n++ {
		code := LengthCode(n)
		got := LengthOf(CodeOf(code | 5<<CodeBits))
		if code == 0 || code >= 1<<CodeBits || got < last {
			t.Fatalf("%d: code %d, read as %v after %v", n, code, got, last)
		}
		if n < 1<<17 && (got < 0.87*float64(n) || got > 1.13*float64(n)) {
			t.Fatalf("%d is read as %v", n, got)
		}
		last = got
	}
}

func TestSpots(t *testing.T) {
	many := make([]Spot, 5000)
	for i := range many {
		many[i] = Spot{uint32(7 * (i + 1)), Form(i % 3 * 12345)}
	}
	same := slices.Clone(many)
	for i := range same {
		same[i].Form = 0
	}
	for name, c := range map[string]struct {
		spots []Spot
		alone bool // the places fit into the norm, so there is no location
	}{
		"one":                  {[]Spot{{1, 0}}, true},
		"one, far away":        {[]Spot{{1<<23 - 1, 0}}, true},
		"one, too far away":    {[]Spot{{1 << 24, 0}}, false},
		"a form":               {[]Spot{{900, 1<<WordBits - 1}}, true},
		"a form, far away":     {[]Spot{{1 << 10, 1}}, false},
		"an article":           {[]Spot{{3, 1 << WordBits}}, false},
		"the last position":    {[]Spot{{maxPosition, 1<<formBits - 1}}, false},
		"two":                  {[]Spot{{4, 0}, {4003, 0}}, true},
		"two, far apart":       {[]Spot{{4, 0}, {4101, 0}}, false},
		"two at one place":     {[]Spot{{4, 0}, {4, 0}}, false},
		"three":                {[]Spot{{1, 0}, {2, 0}, {200, 0}}, true},
		"with forms":           {[]Spot{{1, 5}, {2, 0}}, false},
		"forms that alternate": {[]Spot{{1, 0}, {2, 5}, {3, 5}, {9, 0}, {400, 5}}, false},
		"the last with a form": {[]Spot{{1, 0}, {2, 0}, {3, 0}, {9, 0}, {400, 7}}, false},
		"many":                 {many, false},
		"many without forms":   {same, false},
	} {
		t.Run(name, func(t *testing.T) {
			norm, ok := packed(placesOf(c.spots...), 63)
			if ok != c.alone {
				t.Fatalf("packed: %v", ok)
			}
			if ok {
				got, err := unpacked(nil, norm, uint64(len(c.spots)))
				if err != nil || !slices.Equal(got, c.spots) || norm >= maxNorm || CodeOf(norm) != 63 {
					t.Errorf("%v, %v, norm %x", got, err, norm)
				}
			}
			got, err := located(nil, encoded(locate(nil, placesOf(c.spots...))...), uint64(len(c.spots)))
			if err != nil || !slices.Equal(got, c.spots) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestDamagedSpots(t *testing.T) {
	const end = 1 << 33
	for name, c := range map[string]struct {
		data  []byte
		often uint64
	}{
		"empty":               {nil, 1},
		"nowhere":             {encoded(0, 0, 0), 1},
		"too short":           {encoded(2, 1, 1), 4},
		"cut":                 {encoded(2, 1, 1, 1, 1)[:5], 5},
		"very often":          {encoded(2, 1, 1), 1 << 62},
		"behind the end":      {encoded(end), 1},
		"over the end":        {encoded(2*maxPosition, 1), 2},
		"around":              {encoded(2, 1<<64-1), 2},
		"a number too long":   {bytes.Repeat([]byte{0xff}, 30), 2},
		"a form that is none": {encoded(3, 1<<formBits), 1},
		"a form that is gone": {encoded(3, 1, 3)[:4], 2},
	} {
		if got, err := located(nil, c.data, c.often); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, c := range [][2]uint64{{63, 1}, {1 << 20, 0}, {1 << 20, 25}, {3 << CodeBits, 2}} {
		if got, err := unpacked(nil, c[0], c[1]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("norm %x, %d times: %v, %v", c[0], c[1], got, err)
		}
	}
}

// FuzzSpots checks that random data gives no more places than the data has numbers, and that the
// places are in order.
func FuzzSpots(f *testing.F) {
	f.Add(encoded(2), uint64(1), uint64(300))
	f.Add(encoded(3, 5, 2, 3, 0, 9), uint64(4), uint64(1<<20))
	f.Add(encoded(1<<63, 1, 1, 1), uint64(3), uint64(63))
	f.Fuzz(func(t *testing.T, data []byte, often, norm uint64) {
		got, err := located(nil, data, often)
		few, errFew := unpacked(nil, norm&0xFFFFFFFF, often)
		for _, spots := range [][]Spot{got, few} {
			sorted := slices.IsSortedFunc(spots, func(a, b Spot) int { return int(a.Position) - int(b.Position) })
			if len(spots) > max(len(data), roomBits) || !sorted {
				t.Fatalf("%v of %v", spots, data)
			}
		}
		if err == nil && uint64(len(got)) != often || errFew == nil && uint64(len(few)) != often {
			t.Fatalf("%d and %d places, want %d", len(got), len(few), often)
		}
		if err != nil || often == 0 {
			return
		}
		l := locate(nil, placesOf(got...))
		if again, err := located(nil, encoded(l...), often); err != nil || !slices.Equal(again, got) {
			t.Fatalf("%v is written as %v, and read as %v, %v", got, l, again, err)
		}
	})
}
