package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// longestCode is the length in bytes of a code of an encoding.
const longestCode = 4

// halfWide is the width of ASCII letters, and of half-width kana, if the font has no widths.
const halfWide = 500

// predefined is the encoding of the codes of a predefined CMap (ISO 32000-1, 9.7.5.2), nil where
// none is exactly so. Those for writing from top to bottom have the codes of the others.
func predefined(cmap string) *encoding.Decoder {
	name := strings.TrimSuffix(strings.TrimSuffix(cmap, "-H"), "-V")
	label := ""
	switch name {
	case cmap: // a CMap of one letter, or none
	case "GB-EUC", "GBK-EUC", "GBKp-EUC":
		label = "gbk"
	case "GBK2K":
		label = "gb18030"
	case "ETen-B5", "ETenms-B5", "HKscs-B5":
		label = "big5"
	case "90ms-RKSJ", "90msp-RKSJ":
		label = "shift_jis"
	case "EUC":
		label = "euc-jp"
	case "KSC-EUC", "KSCms-UHC", "KSCms-UHC-HW":
		label = "euc-kr"
	case "UniGB-UCS2", "UniGB-UTF16", "UniCNS-UCS2", "UniCNS-UTF16", "UniJIS-UCS2", "UniJIS-UCS2-HW", "UniJIS-UTF16",
		"UniJIS2004-UTF16",
		"UniKS-UCS2", "UniKS-UTF16":
		label = "utf-16be"
	}
	if e, err := htmlindex.Get(label); err == nil {
		return e.NewDecoder()
	}
	return nil
}

// encodedCode returns the first code of codes and its character, "" if it has none. If there is no
// complete code both are "".
func encodedCode(d *encoding.Decoder, codes string) (code, text string) {
	var room [4 * utf8.UTFMax]byte
	for n := 1; n <= min(len(codes), longestCode); n++ {
		d.Reset()
		if made, read, _ := d.Transform(room[:], []byte(codes[:n]), false); read > 0 {
			text = string(room[:made])
			if strings.ContainsFunc(text, func(r rune) bool {
				return r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Co, r)
			}) {
				text = ""
			}
			return codes[:read], text
		}
	}
	return "", ""
}

// halfWidth reports whether a character takes half the room of an ideograph.
func halfWidth(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r < utf8.RuneSelf || r >= 0xFF61 && r <= 0xFFDC
}
