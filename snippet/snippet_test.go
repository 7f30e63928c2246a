package snippet

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/acapcrawl/acapcrawl/internal/test/prose"
	"github.com/acapcrawl/acapcrawl/page"
)

func n(i int) *int { return &i }

// build returns the snippet of text. The test fails if there is none or if it exceeds the limits.
func build(t *testing.T, text string, r Rules) Snippet {
	t.Helper()
	s, ok := Build(text, r)
	if !ok {
		t.Fatalf("no snippet of %.40q under %+v", text, r)
	}
	if r.MaxChars != nil && Chars(s.Text) > *r.MaxChars || r.MaxWords != nil && Words(s.Text) > *r.MaxWords {
		t.Errorf("%q has %d characters and %d words", s.Text, Chars(s.Text), Words(s.Text))
	}
	return s
}

const harbour = "The harbour opened at dawn. Gulls followed the trawlers home, as they had done all summer. " +
	"Nobody at the quay spoke of the storm that was forecast for the weekend. Mr. Brandt counted crates twice. " +
	"In the afternoon the wind turned east and the ferry stayed in port. A lantern burned in the pilot house all " +
	"night. " +
	"By morning the breakwater had lost nine of its granite blocks, and the lighthouse keeper wrote the damage down " +
	"in his ledger. " +
	"Insurers arrived on Tuesday with cameras and long questionnaires. The town council promised a new wall before " +
	"winter. " +
	"Children found a barrel of Portuguese oranges on the beach and sold them for a penny each."

func TestWhatIsCounted(t *testing.T) {
	for _, c := range []struct {
		text         string
		chars, words int
	}{
		{"", 0, 0},
		{"  one \n\ttwo  ", 7, 2},
		{"e\u0301", 2, 1},            // J01: code points count, not grapheme clusters
		{"天气很好", 4, 4},               // J02: each ideograph is a word
		{"スーパー", 4, 4},               // each kana is a word
		{"東京2020大会", 8, 5},           // other text next to ideographs counts as a word
		{"今天。天", 4, 4},               // punctuation next to ideographs counts too
		{"葛\U000E0100城", 3, 2},       // a variation selector is part of its ideograph
		{"서울에서 만났다", 8, 2},           // words in Hangul are separated by blanks
		{"well-known — fact", 17, 3}, // words are tokens between white space
		{"one… two", 8, 2},
	} {
		if chars, words := Chars(c.text), Words(c.text); chars != c.chars || words != c.words {
			t.Errorf("%q: %d characters, %d words; want %d, %d", c.text, chars, words, c.chars, c.words)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		chars, words *int
		want         string // the expected snippet; "" for none
	}{
		{"J05: 0 is none", "abc", n(0), nil, ""},
		{"J05: 0 words is none", "abc", nil, n(0), ""},
		{"J05: the ellipsis counts, and a word is not cut for it", "abcdef", n(3), nil, "abc"},
		{"J01: nothing of a cluster fits", "e\u0301", n(1), nil, ""},
		{"J01: no cut inside a cluster", "e\u0301e\u0301", n(3), nil, "e\u0301…"},
		{"J01: a family is one cluster", "👩‍👩‍👧‍👦 at home", n(6), nil, ""},
		{"all of it fits", "abc def", n(7), nil, "abc def"},
		{"between words", "abc def", n(6), nil, "abc…"},
		{"the ellipsis fits just so", "abc def", n(4), nil, "abc…"},
		{"no room for an ellipsis", "abc def", n(3), nil, "abc"},
		{"J02: ideographs are words", "天气很好天气很好", nil, n(3), "天气很"},
		{"J06: nine words of many", strings.Repeat("word ", 99), nil, n(9),
			strings.TrimSpace(strings.Repeat("word ", 9)) + "…"},
		{"both limits, words smaller", "one two three four", n(100), n(2), "one two…"},
		{"both limits, characters smaller", "one two three four", n(5), n(3), "one…"},
		{"white space is collapsed first", "  one \n\n two ", n(7), nil, "one two"},
		{"no text", " \n ", nil, nil, ""},
		{"a Thai sentence may be cut", "สวัสดีชาวโลกทั้งหลาย", n(8), nil, "สวัสดี"},
	} {
		s, _ := Build(c.text, Rules{MaxChars: c.chars, MaxWords: c.words})
		if c.reason == "a Thai sentence may be cut" {
			if s.Text == "" || Chars(s.Text) > 8 {
				t.Errorf("%s: got %q", c.reason, s.Text)
			}
			continue
		}
		if s.Text != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, s.Text, c.want)
		}
	}
}

func TestWithoutLimitsItIsShort(t *testing.T) {
	s := build(t, strings.Repeat(harbour+" ", 20), Rules{})
	if got := Chars(s.Text); got > 250 || got < 200 {
		t.Errorf("%d characters: %q", got, s.Text)
	}
	if !strings.HasPrefix(s.Text, "The harbour opened at dawn.") {
		t.Errorf("begins elsewhere: %q", s.Text)
	}
}

func TestPassage(t *testing.T) {
	for _, c := range []struct {
		reason, query string
		chars         int
		begins        string
		holds         []string
	}{
		{"from the beginning of the sentence", "lantern", 100, "A lantern burned", []string{"lantern"}},
		{"words in one sentence are found together", "granite lighthouse", 140, "By morning the breakwater",
			[]string{"granite", "lighthouse"}},
		{"an abbreviation ends no sentence", "crates", 60, "Mr. Brandt", []string{"crates"}},
		{"the rare word rather than the frequent one", "the questionnaires", 80, "Insurers arrived",
			[]string{"questionnaires"}},
		{"near the end the passage goes back", "penny", 120, "Children found", []string{"penny each."}},
		{"two passages for words far apart", "gulls oranges", 200, "Gulls followed",
			[]string{"Gulls", "oranges", "… "}},
		{"case and accents do not matter", "PÓRTUGUESE", 80, "", []string{"Portuguese"}},
		{"what is excluded or narrows is no word", "-gulls site:the.example lang:en ledger", 80, "",
			[]string{"ledger"}},
		{"quotation marks are not words", `"pilot house"`, 80, "", []string{"pilot house"}},
		{"a word that is not there changes nothing", "zeppelin", 80, "The harbour opened", nil},
	} {
		s := build(t, harbour, Rules{MaxChars: &c.chars, Wanted: Wanted{Query: c.query}})
		if !strings.HasPrefix(s.Text, c.begins) {
			t.Errorf("%s: %q does not begin %q", c.reason, s.Text, c.begins)
		}
		for _, h := range c.holds {
			if !strings.Contains(s.Text, h) {
				t.Errorf("%s: %q lacks %q", c.reason, s.Text, h)
			}
		}
	}
}

func TestASentenceTooLongToReachBegins(t *testing.T) {
	text := strings.Repeat("and again the tide came in ", 30) + "until a heron stood there " +
		strings.Repeat("while the tide went out ", 30)
	s := build(t, text, Rules{MaxChars: n(60), Wanted: Wanted{Query: "heron"}})
	if !strings.Contains(s.Text, "heron") || !strings.HasPrefix(s.Text, ellipsis) ||
		!strings.HasSuffix(s.Text, ellipsis) {
		t.Errorf("got %q", s.Text)
	}
	for _, w := range strings.Fields(strings.Trim(s.Text, ellipsis)) {
		if !strings.Contains(" "+text+" ", " "+w+" ") {
			t.Errorf("%q is cut in %q", w, s.Text)
		}
	}
}

func TestPassageInOtherScripts(t *testing.T) {
	for _, c := range []struct{ text, query, mark string }{
		{strings.Repeat("今日は静かな一日だった。", 40) + "港では漁師たちが網を直している。" + strings.Repeat("空は青く、風は弱い。", 40), "漁師", "漁師"},
		{strings.Repeat("城里的街道很安静。", 40) + "博物馆收藏了一幅古老的地图。" + strings.Repeat("人们在河边散步。", 40), "古老的地图", "古老的地图"},
		{strings.Repeat("كان الطريق طويلا. ", 40) + "وصلت السفينة إلى الميناء القديم. " +
			strings.Repeat("عاد الجميع إلى البيت. ", 40), "ميناء", "الميناء"},
		{strings.Repeat("День был тихий. ", 40) + "Старая книга лежала на столе. " +
			strings.Repeat("Никто не пришёл. ", 40), "книги", "книга"},
		{strings.Repeat("Der Tag war ruhig. ", 40) + "Die alten Häuser an der Straße stehen leer. " +
			strings.Repeat("Niemand kam. ", 40), "strasse", "Straße"},
	} {
		s := build(t, c.text, Rules{MaxChars: n(60), Wanted: Wanted{Query: c.query}})
		if len(s.Marks) == 0 || string([]rune(s.Text)[s.Marks[0][0]:s.Marks[0][1]]) != c.mark {
			t.Errorf("%q: marks %v in %q", c.query, s.Marks, s.Text)
		}
	}
}

// marked returns the text with marked words in brackets.
func marked(s Snippet) string {
	var out strings.Builder
	text, at := []rune(s.Text), 0
	for _, m := range s.Marks {
		out.WriteString(string(text[at:m[0]]) + "[" + string(text[m[0]:m[1]]) + "]")
		at = m[1]
	}
	return out.String() + string(text[at:])
}

func TestMarks(t *testing.T) {
	for _, c := range []struct{ text, query, want string }{
		{"The house and the houses, not the household.", "houses", "The [house] and the [houses], not the household."},
		{"Storm or story?", "storm", "[Storm] or story?"},
		{"l’été à Zürich, en l'an 1000", "ete zurich 100", "l’[été] à [Zürich], en l'an 1000"},
		{"東京都と京都", "京都", "東[京都]と[京都]"},
		{"C'est œuvre ﬁne", "oeuvre", "C'est [œuvre] ﬁne"},
		{"<b>bold</b> & plain", "bold", "<b>[bold]</b> & plain"},
	} {
		s := build(t, c.text, Rules{Wanted: Wanted{Query: c.query}})
		if got := marked(s); got != c.want {
			t.Errorf("%q: %s", c.query, got)
		}
	}
}

// TestBlocks checks that blocks are separated and that navigation is skipped.
func TestBlocks(t *testing.T) {
	// Home and Ferries are navigation
	const text = "Home\nPictures from the regatta\nIda Marsh stood at the quay.\nFerries\nTimetables"
	for _, c := range []struct{ query, want string }{
		{"regatta", "Pictures from the [regatta]… Ida Marsh stood at the quay. Timetables"},
		{"marsh", "Pictures from the regatta… Ida [Marsh] stood at the quay. Timetables"},
		{"ferries", "Home… Pictures from the regatta… Ida Marsh stood at the quay. [Ferries]… Timetables"},
		{"ferries marsh", "Home… Pictures from the regatta… Ida [Marsh] stood at the quay. [Ferries]… Timetables"},
		{"zeppelin", "Pictures from the regatta… Ida Marsh stood at the quay. Timetables"},
	} {
		s := build(t, text, Rules{Blocks: lines(text), Wanted: Wanted{Query: c.query}})
		if got := marked(s); got != c.want {
			t.Errorf("%s: %s", c.query, got)
		}
	}
	if s := build(t, "a\x1b[31m\u009b\u202eb\u2067\x07 c\n",
		Rules{Extracts: []string{"x\x1b]0;y\x07\n\nz"}}); s.Text != "x]0;y z" {
		t.Errorf("%q", s.Text)
	}
	if s := build(t, "a\x1b[31m\u009b\u202eb\u2067\x07 c\n", Rules{}); s.Text != "a[31mb c" {
		t.Errorf("%q", s.Text)
	}
}

// TestWordsThatStandAside checks that words that occur only in navigation are shown too, but words
// that also occur in the main content are not shown from there.
func TestWordsThatStandAside(t *testing.T) {
	matter := strings.Repeat("Nobody at the quay spoke of it that day. ", 20)
	text := "Storm Warnings Timetables\n" + matter + "The storm came at night.\nPictures from the regatta\n" + matter +
		"\nA pilot boat has a lantern.\n" + matter
	var blocks []page.Block
	at := 0
	for i, line := range strings.Split(text, "\n") {
		blocks = append(blocks, page.Block{Kind: map[int]page.Kind{0: page.Aside, 2: page.Heading, 4: page.Aside}[i],
			Start: at, End: at + len(line)})
		at += len(line) + 1
	}
	for _, c := range []struct {
		reason, query string
		holds, not    string
	}{
		{"a box that the page puts aside", "lantern", "has a [lantern]", ""},
		{"one word of the matter, one of a box", "storm lantern", "The [storm] came at night.|has a [lantern]",
			"Warnings"},
		{"one of the navigation", "night timetables", "at [night].|[Timetables]", ""},
		{"a heading that repeats the title", "regatta lantern", "the [regatta]|a [lantern]", ""},
		{"nothing", "zeppelin", "Nobody at the quay", "Warnings"},
	} {
		got := marked(build(t, text, Rules{Blocks: blocks, Title: "Pictures from the regatta",
			Wanted: Wanted{Query: c.query}}))
		for want := range strings.SplitSeq(c.holds, "|") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.reason, got, want)
			}
		}
		if c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q has %q", c.reason, got, c.not)
		}
	}
}

// TestPassages checks that a snippet shows words that are far apart in as many passages as fit.
func TestPassages(t *testing.T) {
	matter := strings.Repeat("Nobody at the quay spoke of it that day. ", 20)
	text := matter + "The storm came. " + matter + "A lantern burned. " + matter + "The ferry stayed. " + matter +
		"Insurers arrived."
	for _, c := range []struct {
		query, want string
		chars       int
	}{
		{"storm lantern ferry insurers", "storm lantern ferry Insurers", 250},
		{"insurers storm lantern", "storm lantern Insurers", 150},
		{"insurers storm lantern ferry", "storm lantern", 100},
	} {
		s := build(t, text, Rules{MaxChars: n(c.chars), Wanted: Wanted{Query: c.query}})
		var got []string
		for _, m := range s.Marks {
			got = append(got, string([]rune(s.Text)[m[0]:m[1]]))
		}
		if len(got) != len(strings.Fields(c.want)) || c.chars > 100 && strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", c.query, s.Text)
		}
	}
}

// TestMatch checks that a Match function decides which words match, and not the similarity of
// words.
func TestMatch(t *testing.T) {
	match := func(word string) bool {
		return strings.Contains(" cities ran 港 hasn’t The they روم ", " "+word+" ")
	}
	for _, c := range []struct{ text, query, want string }{
		{"A city, two cities, cit", "city", "A city, two [cities], cit"},
		{"He ran, or so he says", "running", "He [ran], or so he says"},
		{"Over the harbour", "city", "Over the harbour"},
		{"It hasn’t come; has it", "hasn't", "It [hasn’t] come; has it"},
		{"The or they", "they the", "[The] or [they]"},
		{"می\u200cروم و روم", "روم", "می\u200c[روم] و [روم]"},
		{"روم\u200c و\u200c\u200cروم", "روم", "روم\u200c و\u200c\u200c[روم]"},
		{"漁港と港町", "港", "漁[港]と[港]町"}, // in dense script, words are found at every position
	} {
		if got := marked(build(t, c.text, Rules{Wanted: Wanted{Query: c.query, Match: match}})); got != c.want {
			t.Errorf("%s: %s", c.query, got)
		}
	}
}

func TestLength(t *testing.T) {
	for _, c := range []struct {
		length int
		max    *int
		most   int
	}{{0, nil, usual}, {40, nil, 40}, {400, nil, 400}, {400, n(60), 60}, {40, n(60), 40}} {
		s := build(t, harbour, Rules{MaxChars: c.max, Wanted: Wanted{Length: c.length}})
		if got := Chars(s.Text); got > c.most || got < c.most*2/3 {
			t.Errorf("%d: %d characters", c.length, got)
		}
	}
}

func TestExtracts(t *testing.T) {
	const credit = "the wind turned east and the ferry stayed in port"
	for _, c := range []struct {
		reason string
		rules  Rules
		want   string // the expected snippet; "" for none
		all    bool   // want is the whole text
	}{
		{"J04: longer than the limit", Rules{MaxWords: n(3), Extracts: []string{credit}}, "", false},
		{"J04: longer in characters", Rules{MaxChars: n(20), Extracts: []string{credit}}, "", false},
		{"X06: just as long as the limit", Rules{MaxWords: n(10), Extracts: []string{credit}}, credit, true},
		{"J12: no text", Rules{Extracts: []string{" "}}, "", false},
		{"X06: unmodified and followed by the text", Rules{MaxChars: n(200), Extracts: []string{credit}}, credit +
			". A lantern burned", false},
		{"not in the text", Rules{MaxChars: n(120), Extracts: []string{"By our own\n correspondent"}},
			"By our own correspondent", false},
		{"with another passage", Rules{MaxChars: n(160), Wanted: Wanted{Query: "oranges"}, Extracts: []string{credit}},
			credit, false},
		{"several", Rules{MaxChars: n(160), Extracts: []string{"By Lena Ott", credit}}, "By Lena Ott " + credit, false},
		{"longer than a usual snippet", Rules{Extracts: []string{harbour}}, harbour, true},
	} {
		s, ok := Build(harbour, c.rules)
		if ok != (c.want != "") || !strings.Contains(s.Text, c.want) || c.all && s.Text != c.want {
			t.Errorf("%s: got %q, %v", c.reason, s.Text, ok)
		}
	}
	if s := build(t, harbour, Rules{MaxChars: n(160), Wanted: Wanted{Query: "oranges"},
		Extracts: []string{credit}}); !strings.Contains(s.Text, "oranges") {
		t.Errorf("the query's word is missing in %q", s.Text)
	}
}

func TestSameInSameOut(t *testing.T) {
	r := Rules{MaxChars: n(120), Wanted: Wanted{Query: "gulls wind port summer granite"}}
	first := build(t, harbour, r)
	for range 20 {
		if got := build(t, harbour, r); got.Text != first.Text {
			t.Fatalf("%q, then %q", first.Text, got.Text)
		}
	}
}

func FuzzBuild(f *testing.F) {
	f.Add(harbour, "gulls oranges", "", 90, 20)
	f.Add("天气很好。天气很好 e\u0301 👩‍👩‍👧‍👦", "天气", "很好", 7, 3)
	f.Add("\u0600 \u0301a b\u200dc", "a", "", 3, 3)
	f.Add("0 \u0301A", "A", "", 3, 3)
	f.Add("روم\u200c و\u200c\u200cروم", "روم", "", 9, 3)
	f.Add("🇩🇪🇫🇷🇮🇹 スーパー\u3099", "スー", "🇫🇷", 5, 9)
	f.Add("Home\nThe regatta\nIda stood\x1b[31m at the \u202equay.\nFerries", "ferries ida", "", 30, 6)
	f.Fuzz(func(t *testing.T, text, query, extract string, chars, words int) {
		r := Rules{Wanted: Wanted{Query: query}}
		if chars >= 0 {
			r.MaxChars = &chars
		}
		if words >= 0 {
			r.MaxWords = &words
		}
		if extract != "" {
			r.Extracts = []string{extract}
		}
		whole := Plain(text)
		if strings.Contains(text, "\n") {
			r.Blocks = lines(text)
			r.Title, _, _ = strings.Cut(text, "\n")
			var room Room
			whole = ""
			for _, wanted := range []extra{{}, {titles: true}, {asides: true}, {true, true}} {
				joined, _ := room.joined(text, r.Title, r.Blocks, wanted)
				whole += joined + "\n"
			}
		}
		s, ok := Build(text, r)
		if !ok {
			return
		}
		if s.Text == "" || s.Text != Plain(s.Text) || !utf8.ValidString(s.Text) || strings.ContainsFunc(s.Text, acts) {
			t.Fatalf("%q is not a plain text", s.Text)
		}
		if chars >= 0 && Chars(s.Text) > chars || words >= 0 && Words(s.Text) > words {
			t.Fatalf("%q has %d characters, %d words; limits %d, %d", s.Text, Chars(s.Text), Words(s.Text), chars,
				words)
		}
		rest := s.Text
		if extract = Plain(extract); extract != "" {
			at := strings.Index(rest, extract)
			if at < 0 {
				t.Fatalf("%q lacks %q", rest, extract)
			}
			rest = rest[:at] + ellipsis + rest[at+len(extract):]
		}
		for _, piece := range strings.Split(rest, ellipsis) {
			if !strings.Contains(whole, strings.TrimSpace(piece)) {
				t.Fatalf("%q of %q is no piece of %q", piece, s.Text, whole)
			}
		}
		if extract == "" && !strings.Contains(text, ellipsis) {
			boundaries := map[int]bool{0: true}
			for g := uniseg.NewGraphemes(whole); g.Next(); {
				from, to := g.Positions()
				boundaries[to] = true
				if i := strings.IndexByte(g.Str(), ' '); i > 0 { // a blank is never part of a grapheme cluster
					boundaries[from+i] = true
				}
			}
			for _, piece := range strings.Split(s.Text, ellipsis) {
				if piece = strings.TrimSpace(piece); !occursWhole(whole, piece, boundaries) {
					t.Fatalf("%q of %q is cut inside a cluster of %q", piece, s.Text, whole)
				}
			}
		}
		last := 0
		for _, m := range s.Marks {
			if m[0] < last || m[1] <= m[0] || m[1] > utf8.RuneCountInString(s.Text) {
				t.Fatalf("marks %v in %q", s.Marks, s.Text)
			}
			last = m[1]
		}
	})
}

// lines returns each line of text as a block; every third is navigation.
func lines(text string) (out []page.Block) {
	at := 0
	for i, line := range strings.SplitAfter(text, "\n") {
		kind := []page.Kind{page.Aside, page.Heading, page.Prose}[i%3]
		if line != "" {
			out = append(out, page.Block{Kind: kind, Start: at, End: at + len(line)})
		}
		at += len(line)
	}
	return out
}

// occursWhole reports whether piece occurs in whole between two boundaries.
func occursWhole(whole, piece string, boundaries map[int]bool) bool {
	for at := 0; ; at++ {
		i := strings.Index(whole[at:], piece)
		if i < 0 {
			return false
		}
		if at += i; boundaries[at] && boundaries[at+len(piece)] {
			return true
		}
		if at >= len(whole) {
			return false
		}
	}
}

// BenchmarkBuild measures Build without a Match function; the benchmarks of package present have
// one.
func BenchmarkBuild(b *testing.B) {
	text := strings.Join(prose.Paragraphs("en", 1, 15_000), " ")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if s, ok := Build(text, Rules{Wanted: Wanted{Query: "lanterns repairing quarries"}}); !ok || len(s.Marks) == 0 {
			b.Fatal(s.Text)
		}
	}
}

// TestRoom checks that reusing a Room changes neither the next snippet nor an earlier one.
func TestRoom(t *testing.T) {
	var got, want []string
	var room Room
	for i, word := range strings.Fields("gulls storm crates ferry lantern granite cameras council oranges zeppelin") {
		text := strings.Repeat("Sea\n", i) + strings.ReplaceAll(harbour, ". ", ".\n")
		rules := Rules{Blocks: lines(text), MaxChars: n(60), Title: "Sea", Wanted: Wanted{Query: word}}
		want = append(want, build(t, text, rules).Text)
		rules.Room = &room
		got = append(got, build(t, text, rules).Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLettersAreFolded checks the letters that Unicode does not decompose: each matches its plain
// spelling.
func TestLettersAreFolded(t *testing.T) {
	for letter, want := range map[string]string{
		"ß": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Þ": "th", "ø": "o", "Ł": "l", "đ": "d", "ð": "d", "ı": "i",
		"ς": "σ", "Ё": "е", "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "é": "e", "Ä": "a", "ﾊ": "ﾊ", "Ａ": "a", "я": "я",
	} {
		var got []rune
		for _, r := range letter {
			got = appendFolded(got, r)
		}
		if string(got) != want {
			t.Errorf("%s is folded to %s, want %s", letter, string(got), want)
		}
	}
}
