package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// longestCode is the maximum length of a character code, in bytes.
const longestCode = 4

// halfWide is the width of ASCII letters and half-width kana if the font declares no widths.
const halfWide = 500

// predefined returns the encoding of the codes of a predefined CMap (ISO 32000-1, 9.7.5.2), nil if
// no known encoding has the same codes. A CMap for vertical writing has the same codes as the one
// for horizontal writing.
func predefined(cmap string) *encoding.Decoder {
	name := strings.TrimSuffix(strings.TrimSuffix(cmap, "-H"), "-V")
	label := ""
	switch name {
	case cmap: // the CMap has no suffix -H or -V: its name has one letter, or is empty
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

// encodedCode returns the first code in codes and the character of the code, "" if the code has
// none. If codes begins with an incomplete code, both results are "".
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

// halfWidth reports whether a character is half as wide as an ideograph.
func halfWidth(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r < utf8.RuneSelf || r >= 0xFF61 && r <= 0xFFDC
}
