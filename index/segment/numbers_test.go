package segment

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestNumbers checks that entries of all lengths are read and skipped correctly, eight bytes at
// once or, at the end, byte by byte.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var often, norms []uint64
		var data []byte
		for range random.IntN(40) {
			o, norm := uint64(random.IntN(1<<random.IntN(20))), uint64(0)
			data = binary.AppendUvarint(data, o)
			if o > 1 {
				norm = random.Uint64() >> random.IntN(64)
				data = binary.AppendUvarint(data, norm)
			}
			often, norms = append(often, o), append(norms, norm)
		}
		at, rated := numbers{data: data}, numbers{data: data}
		ratings := make([]Rating, len(often))
		rated.ratings(ratings)
		if rated.at != len(data) {
			t.Fatalf("%x: ratings end at %d", data, rated.at)
		}
		for i := range often {
			passed := at
			if o, norm := at.entry(); o != often[i] || norm != norms[i] {
				t.Fatalf("%x: entry %d is %d, %d, want %d, %d", data, i, o, norm, often[i], norms[i])
			}
			if want := (Rating{uint32(often[i]), uint32(CodeOf(norms[i]))}); ratings[i] != want {
				t.Fatalf("%x: rating %d is %v, want %v", data, i, ratings[i], want)
			}
			if passed.skip(1 + min(int(often[i]/2), 1)); passed.at != at.at {
				t.Fatalf("%x: entry %d ends at %d, skipped to %d", data, i, at.at, passed.at)
			}
		}
		all, many := numbers{data: data}, 0
		for _, o := range often {
			many += 1 + min(int(o/2), 1)
		}
		if all.skip(many); all.at != len(data) {
			t.Fatalf("%x: %d numbers end at %d", data, many, all.at)
		}
	}
}
