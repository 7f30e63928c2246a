package rewrite

import (
	"encoding/json"
	"strings"
)

// list returns a list of addresses, separated by white space, with new addresses.
func (r *rewriter) list(value string, kind Kind) (string, bool) {
	var b strings.Builder
	changed := false
	for ref := range strings.FieldsFuncSeq(value, func(c rune) bool { return c < 0x80 && blank(byte(c)) }) {
		if address, ok := r.single(ref, kind); ok {
			ref, changed = address, true
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(ref)
		if r.err != nil {
			break
		}
	}
	return b.String(), changed
}

// srcset returns the value of a srcset attribute with new addresses (HTML 4.8.4.2.1, parsing a
// srcset attribute). All other bytes remain.
func (r *rewriter) srcset(value string, kind Kind) (string, bool) {
	var b strings.Builder
	copied, changed := 0, false
	for i := 0; ; {
		for i < len(value) && (blank(value[i]) || value[i] == ',') {
			i++
		}
		if i == len(value) || r.err != nil {
			return b.String() + value[copied:], changed
		}
		start := i
		for i < len(value) && !blank(value[i]) {
			i++
		}
		ref := strings.TrimRight(value[start:i], ",")
		if address, ok := r.single(ref, kind); ok {
			b.WriteString(value[copied:start] + withoutCommas(address))
			copied, changed = start+len(ref), true
		}
		if len(ref) == i-start { // no comma ends the address: there may be descriptors
			i = descriptorsEnd(value, i)
		}
	}
}

// withoutCommas returns an address that neither begins nor ends with a comma.
func withoutCommas(address string) string {
	if strings.HasPrefix(address, ",") || strings.HasSuffix(address, ",") {
		return strings.ReplaceAll(address, ",", "%2C")
	}
	return address
}

// descriptorsEnd returns the offset after the descriptors that begin at i: that of the next comma
// outside of parentheses.
func descriptorsEnd(value string, i int) int {
	within := false
	for ; i < len(value) && (within || value[i] != ','); i++ {
		switch value[i] {
		case '(':
			within = true
		case ')':
			within = false
		}
	}
	return i
}

// refresh returns the address in the content of a META refresh, and where it begins, or -1 if there
// is none (HTML 4.2.5.3, shared declarative refresh steps).
func refresh(content string) (at int, ref string) {
	i := skipBlanks(content, 0)
	digits := i
	for i < len(content) && '0' <= content[i] && content[i] <= '9' {
		i++
	}
	if i == len(content) || i == digits && content[i] != '.' {
		return -1, ""
	}
	for i < len(content) && ('0' <= content[i] && content[i] <= '9' || content[i] == '.') {
		i++
	}
	if i == len(content) || !blank(content[i]) && content[i] != ';' && content[i] != ',' {
		return -1, ""
	}
	if i = skipBlanks(content, i); i < len(content) && (content[i] == ';' || content[i] == ',') {
		i = skipBlanks(content, i+1)
	}
	if i == len(content) {
		return -1, ""
	}
	if content[i]|0x20 == 'u' {
		after := i + 3
		if len(content) < after || !strings.EqualFold(content[i:after], "url") {
			return i, content[i:]
		}
		if after = skipBlanks(content, after); after == len(content) || content[after] != '=' {
			return i, content[i:]
		}
		i = skipBlanks(content, after+1)
	}
	ref = content[i:]
	if ref != "" && (ref[0] == '"' || ref[0] == '\'') {
		ref, _, _ = strings.Cut(ref[1:], ref[:1])
	}
	return i, ref
}

// srcdoc returns a document in an attribute with new addresses. A document that is nested too deep
// is emptied.
func (r *rewriter) srcdoc(value string) (string, bool) {
	if r.nested >= maxNested {
		return "", value != ""
	}
	inner := rewriter{base: r.base, to: r.to, nested: r.nested + 1, meter: r.meter}
	var b strings.Builder
	if err := inner.document(&b, strings.NewReader(value)); err != nil {
		return "", true
	}
	return b.String(), b.String() != value
}

// jsonStrings returns JSON with new addresses, in an import map (HTML 8.1.6.2) or speculation
// rules. A string is an address if it names a host, or begins with a slash or dot segment. Other
// strings are names of modules.
func (r *rewriter) jsonStrings(text string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		start := i
		for i++; i < len(text) && text[i] != '"'; i++ {
			if text[i] == '\\' {
				i++
			}
		}
		var ref string
		if i >= len(text) || json.Unmarshal([]byte(text[start:i+1]), &ref) != nil {
			continue
		}
		relative := strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, "./") || strings.HasPrefix(ref, "../")
		if !relative && !namesHost(ref) {
			continue
		}
		if address, ok := r.single(ref, Other); ok {
			if quoted, err := json.Marshal(address); err == nil {
				b.WriteString(text[copied:start] + string(quoted))
				copied = i + 1
			}
		}
	}
	return b.String() + text[copied:]
}
