package snippet

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Every word is answered as it was, whatever is remembered and forgotten.
func TestKnown(t *testing.T) {
	var k known
	length := func(word string) uint32 { return uint32(len(word)) ^ uint32(word[0])<<8 }
	words := []string{"a", "aa", "aaa", "é", "ée", "aé", "я", "aaaaaaa\u00e9", "aaaaaaaaaaaaaaa\u00e9"}
	for i := range 3 * remembered {
		words = append(words, strconv.Itoa(i*i*i), strings.Repeat(strconv.Itoa(i%9), i%24+1))
	}
	for _, w := range words {
		p, end := pack(w+", and more behind it", 0)
		if other, _ := pack(w, 0); end != wordEnd(w, 0) || other != p {
			t.Fatalf("%q is %v or %v, up to %d", w, p, other, end)
		}
		w = w[:end]
		terms, told := k.recall(w, p)
		if !told {
			k.remember(w, p, length(w))
			terms, told = k.recall(w, p)
		}
		if !told || terms != length(w) {
			t.Fatalf("%q: %d, %v", w, terms, told)
		}
	}
	if len(k.short) > 2*remembered || k.used > remembered || len(k.long) > remembered {
		t.Errorf("%d words in %d slots, %d long ones", k.used, len(k.short), len(k.long))
	}
	k.forget()
	if p, _ := pack("aa", 0); k.used > 0 {
		t.Errorf("%d used", k.used)
	} else if _, told := k.recall("aa", p); told {
		t.Error("not forgotten")
	}
}

// A word is packed as far as it goes, wherever it ends.
func TestPack(t *testing.T) {
	pieces := strings.Fields("a bc def 7 é ü × ÷ ß я ж ё Ω ا 漢 ー e\u0301 \u00ad \u0301 _ . ' ` @ [ { / : \u0250 \u02af \u02b0 \u0480 \u0482 \u00aa \u0376")
	for range 200_000 {
		text := ""
		for range rand.IntN(20) {
			text += pieces[rand.IntN(len(pieces))]
		}
		p, end := pack(text, 0)
		if want := wordEnd(text, 0); end != want || p.size != 0 != (end > 0 && end <= shortWord) {
			t.Fatalf("%q: %d bytes, up to %d, want %d", text, p.size, end, want)
		}
		for i, b := range []byte(text[:p.size]) {
			if half := [2]uint64{p.head, p.tail}[i/8]; byte(half>>(i%8*8)) != b {
				t.Fatalf("%q is %x", text, p)
			}
		}
	}
}
