package page

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
	"time"
)

// pdfOf returns a PDF file of objects. The first is the root, the second contains the metadata.
func pdfOf(objects ...string) string {
	var b strings.Builder
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return b.String() + "trailer\n<< /Root 1 0 R /Info 2 0 R >>\nstartxref\n0\n%%EOF\n"
}

// streamOf returns a compressed stream object.
func streamOf(dict, data string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(data))
	z.Close()
	return fmt.Sprintf("<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", dict, b.Len(), b.String())
}

const (
	pdfRoot  = "<< /Type /Catalog /Pages 3 0 R >>"
	pdfInfo  = "<< /Title (Tides \\(of the quay\\)) >>"
	pdfPages = "<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
	pdfPage  = "<< /Type /Page /Parent 3 0 R /Contents 5 0 R /Resources << /Font << /F 6 0 R >> >> >>"
	pdfFace  = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /FirstChar 32 " +
		"/LastChar 34 /Widths [250 300 300] >>"
	mapHead = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <FFFF> " +
		"endcodespacerange "
	mapTail = " endcmap end end"
	pdfKana = "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts [<< /W [1 " +
		"[500] 2 9 1000] >>] >>"
)

// drawn returns a PDF file of one page with this content.
func drawn(content string, more ...string) string {
	return pdfOf(append([]string{pdfRoot, pdfInfo, pdfPages, pdfPage, streamOf("", content), pdfFace}, more...)...)
}

// drawnWith returns a PDF file of one page, like drawn, with additional resources.
func drawnWith(resources, content string, more ...string) string {
	page := strings.Replace(pdfPage, "/Resources <<", "/Resources << "+resources, 1)
	return pdfOf(append([]string{pdfRoot, pdfInfo, pdfPages, page, streamOf("", content), pdfFace}, more...)...)
}

// encodedPDF returns a PDF file that shows codes of a predefined CMap.
func encodedPDF(cmap, codes string) string {
	return pdfOf(pdfRoot, pdfInfo, pdfPages, pdfPage, streamOf("", "BT /F 10 Tf <"+codes+"> Tj"),
		"<< /Type /Font /Subtype /Type0 /Encoding /"+cmap+" /DescendantFonts [<< /DW 1000 >>] >>")
}

func TestPDF(t *testing.T) {
	const opened = "BT /F 10 Tf 0 700 Td "
	for _, c := range []struct{ name, file, want string }{
		{"words", drawn(opened + "(High water) Tj ET"), "|High water"},
		{"letters by where they stand",
			drawn(opened + `[(H) -5 (igh) -400 (water)] TJ 60 0 Td (at) Tj 1 0 0 1 20 700 Tm (X) Tj`),
			"|High water at X"},
		{"word spacing", drawn("BT /F 10 Tf 9 Tw (a\" b) Tj 14.6 0 Td (c) Tj"), `|a" bc`},
		{"lines and paragraphs",
			drawn(opened + "12 TL (High) Tj (wa-) ' (ter at) ' 0 0 (six-) \" 0 -12 TD (Two) Tj 0 -30 Td (Low) Tj /F " +
				"20 Tf 0 -20 Td (Neap) Tj"),
			"|High water at six- Two\n|Low\n|Neap"},
		{"a scaled page", drawn("q 10 0 0 10 0 0 cm BT /F 1 Tf (a) Tj 0 -1.2 Td (b) Tj ET Q BT /F 1 Tf (c) Tj"),
			"|a b\n|c"},
		{"accents", drawn(opened + "(\xdcberflu\xdf) Tj"), "|Überfluß"},
		{"two pages", pdfOf(pdfRoot, pdfInfo, "<< /Type /Pages /Kids [4 0 R 4 0 R] /Count 2 >>", pdfPage,
			streamOf("", opened+"(a) Tj"), pdfFace), "|a\n|a"},
		{"many characters", pdfOf(pdfRoot, pdfInfo, pdfPages, pdfPage,
			streamOf("", "BT /F 10 Tf <00010002> Tj 15 0 Td <0003> Tj 0 -12 Td <0002> Tj"), pdfKana,
			streamOf("", mapHead+"1 beginbfchar <0001> <6F6E> endbfchar 1 beginbfrange <0002> <0009> <3042> endbfrange"+
				mapTail)), "|潮あぃあ"},
		{"what cannot be told", pdfOf(pdfRoot, pdfInfo, pdfPages, pdfPage, streamOf("", "BT /F 10 Tf <00010002> Tj"),
			"<< /Type /Font /Subtype /Type0 /Encoding /CNS-EUC-H >>"), ""},
		{"a form", drawnWith("/XObject << /X 7 0 R >>", opened+
			"(a) Tj ET q 1 0 0 1 0 -40 cm /X Do Q BT /F 10 Tf 0 600 Td (c) Tj",
			streamOf("/Subtype /Form /Matrix [1 0 0 1 0 5]", "BT /F 10 Tf 0 700 Td (b) Tj ET")), "|a\n|b\n|c"},
		{"a form with a font of its own", drawnWith("/XObject << /X 7 0 R >>", "/X Do "+opened+"(a) Tj",
			streamOf("/Subtype /Form /Resources << /Font << /F 8 0 R >> >>", "BT /F 10 Tf 0 800 Td <91d1> Tj"),
			"<< /Type /Font /Subtype /Type0 /Encoding /UniGB-UTF16-H /DescendantFonts [<< >>] >>"), "|金\n|a"},
		{"a form within a form", drawnWith("/XObject << /X 7 0 R >>", "/X Do",
			streamOf("/Subtype /Form /Resources << /Font << /F 6 0 R >> /XObject << /Y 8 0 R >> >>",
				"BT /F 10 Tf 0 800 Td (a) Tj ET /Y Do"),
			streamOf("/Subtype /Form", "BT /F 10 Tf 0 700 Td (b) Tj")), "|a\n|b"},
		{"a form of itself", drawnWith("/XObject << /X 7 0 R >>", "/X Do",
			streamOf("/Subtype /Form", "BT /F 10 Tf 0 800 Td (a) Tj ET /X Do /X Do")), "|a"},
		{"an image", drawnWith("/XObject << /X 7 0 R >>", "/X Do "+opened+"(a) Tj",
			streamOf("/Subtype /Picture", "BT /F 10 Tf 0 800 Td (x) Tj")), "|a"},
		{"codes of Unicode", encodedPDF("UniJIS-UTF16-H", "6f6e002000310032d842dfb7"), "|潮 12𠮷"},
		{"codes from top to bottom", encodedPDF("UniKS-UCS2-V", "c870c218"), "|조수"},
		{"codes of Shift JIS", encodedPDF("90ms-RKSJ-H", "92aa2061b1"), "|潮 aｱ"},
		{"codes of EUC for Japanese", encodedPDF("EUC-H", "c4ac"), "|潮"},
		{"codes of GBK", encodedPDF("GBK-EUC-H", "b3b1cbae613fff80"), "|潮水a? €"},
		{"codes of GB 18030", encodedPDF("GBK2K-H", "b3b18139ee39"), "|潮㐀"},
		{"codes of Big 5", encodedPDF("ETen-B5-H", "bce9a4f4"), "|潮水"},
		{"codes of Korean", encodedPDF("KSCms-UHC-H", "c1b6bcf6"), "|조수"},
		{"what is no code, and what is no character", encodedPDF("GBK-EUC-H", "000102b3ff61b3"), "|a"},
		{"characters of nobody", encodedPDF("UniGB-UCS2-H", "e0006f6ed8000041"), "|潮"},
		{"no font", drawn("BT (a) Tj"), ""},
		{"objects in a stream", "%PDF-1.7\n1 0 obj\n" +
			streamOf("/Type /ObjStm /N 4 /First 25", fmt.Sprintf("%-25s%s %s %s %s", "2 0 3 38 4 80 6 166",
				pad(pdfInfo, 37), pad(pdfPages, 41), pad(pdfPage, 85), pdfFace)) +
			"\nendobj\n5 0 obj\n" + streamOf("", opened+"(a) Tj") + "\nendobj\n9 0 obj\n" + pdfRoot +
			"\nendobj\n10 0 obj\n" + streamOf("/Type /XRef /Root 9 0 R /Info 2 0 R /W [1 2 1] /Size 999999999", "x") +
			"\nendobj\n", "|a"},
		{"the later of two objects", drawn(opened+"(a) Tj") + "5 0 obj\n" + streamOf("", opened+"(b) Tj") +
			"\nendobj\n", "|b"},
		{"not packed", drawn(opened+"(a) Tj") + "5 0 obj\n<< /Length 34 >>\nstream\n" + opened +
			"(c) Tj  \nendstream\nendobj\n", "|c"},
		{"a page that fails", pdfOf(pdfRoot, pdfInfo, "<< /Type /Pages /Kids [7 0 R 4 0 R] /Count 2 >>", pdfPage,
			streamOf("", opened+"(a) Tj"), pdfFace,
			strings.Replace(pdfPage, "5 0 R", "8 0 R", 1), streamOf("", opened+"(x) Tj 1 begin (y) Tj")), "|x\n|a"},
		{"nothing", "%PDF-1.7\n", ""},
		{"another file", "x", ""},
	} {
		p := fetched("application/pdf", c.file)
		if got := formatBlocks(p.Blocks(Cut{})); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
		title := ""
		if strings.Contains(c.file, "Root") {
			title = "Tides (of the quay)"
		}
		if got := p.Title(Cut{}); got != title {
			t.Errorf("%s: title %q", c.name, got)
		}
		if got := p.Text(without("index", false)) + p.Title(without("index", false)); got != "" {
			t.Errorf("%s: prohibited %q", c.name, got)
		}
		if _, found := p.Extract("id:a", Cut{}); found { // I08: a page that is not HTML has no elements
			t.Errorf("%s: found an element", c.name)
		}
	}
}

func pad(s string, n int) string { return fmt.Sprintf("%-*s", n, s) }

// TestHostilePDF checks that encrypted and malformed files have no text, and that files with
// endless structures are read in limited time.
func TestHostilePDF(t *testing.T) {
	const hurry = time.Second / 4
	const content = "BT /F 10 Tf (a) Tj"
	plain := drawn(content)
	bomb := streamOf("", strings.Repeat("(a) Tj ", longestStream))
	for name, file := range map[string]string{
		"encrypted":           strings.Replace(plain, "/Info 2 0 R", "/Encrypt << /Filter /Standard >>", 1),
		"escaped names":       strings.Replace(plain, "/Kids", "/#4bids", 1),
		"pages of themselves": strings.Replace(plain, "/Kids [4 0 R]", "/Kids [3 0 R]", 1),
		"parents of themselves": strings.Replace(plain, "/Resources <<", "/Resource <<", 1) +
			"3 0 obj\n<< /Type /Pages /Kids [4 0 R] /Count 1 /Parent 3 0 R >>\nendobj\n",
		"a stream that grows": strings.Replace(plain, streamOf("", content), bomb, 1),
		"a hidden stream": plain + "8 0 obj\n" +
			streamOf("/Type /ObjStm /N 1 /First 4", "5 0 << /Length 9 >> %\nstream\nBT endstream") + "\nendobj\n",
		"objects without end": plain + strings.Repeat("1 0 obj<<>>stream\nendstream ", 100_000) + "endobj",
		"objects that overlap": plain + "8 0 obj\n" + streamOf("/Type /ObjStm /N 9999 /First 900000",
			fmt.Sprintf("%-900000s%s", strings.Repeat("9 0 9 900000 ", 60_000), strings.Repeat(" ", 900_000))) +
			"\nendobj\n",
		"high objects": plain + "9999999 0 obj\n1\nendobj\n",
		"many characters": pdfOf(pdfRoot, pdfInfo, pdfPages, pdfPage, streamOf("", "BT /F 10 Tf <0001> Tj"), pdfKana,
			streamOf("", mapHead+"999999999999 beginbfchar endbfchar"+mapTail)),
		"few characters many times": pdfOf(pdfRoot, pdfInfo, pdfPages, pdfPage, streamOf("", "BT /F 10 Tf <0001> Tj"),
			pdfKana,
			streamOf("", mapHead+strings.Repeat("9999 beginbfchar endbfchar ", 9000)+mapTail)),
		"long characters": pdfOf(pdfRoot, pdfInfo, pdfPages, pdfPage, streamOf("", "BT /F 10 Tf <0001> Tj"), pdfKana,
			streamOf("", mapHead+"1 beginbfchar <0001> <"+strings.Repeat("0041", 9000)+"> endbfchar"+mapTail)),
	} {
		if got := readPDF([]byte(file), hurry).text; got != "" {
			t.Errorf("%s: %.40q", name, got)
		}
	}
	var doubled []string // forms that each draw the next form twice
	for i := range 30 {
		doubled = append(doubled,
			streamOf(fmt.Sprintf("/Subtype /Form /Resources << /Font << /F 6 0 R >> /XObject << /X %d 0 R >> >>", 8+i),
				"BT /F 10 Tf (a) Tj ET /X Do /X Do"))
	}
	if got := readPDF([]byte(drawnWith("/XObject << /X 7 0 R >>", "/X Do", doubled...)),
		time.Minute).text; strings.Count(got, "a") > mostForms || got == "" {
		t.Errorf("forms in forms: %q", got)
	}
	for name, content := range map[string]string{
		"operands":   strings.Repeat("1 ", longestStream/2),
		"arrays":     strings.Repeat("[", longestStream),
		"states":     strings.Repeat("q ", longestStream/2),
		"characters": "BT /F 10 Tf (" + strings.Repeat("a", longestStream-100) + ") Tj",
		"fonts":      strings.Repeat("/F 1 Tf ", longestStream/8),
		"ends":       "Q ET end " + strings.Repeat("Tj TJ ' \" Td Tm cm ", 1000),
	} {
		if got := readPDF([]byte(drawn(content)), hurry).text; len(got) > longestText+longestStream {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

func FuzzPDF(f *testing.F) {
	f.Add([]byte(drawn("BT /F 10 Tf 12 TL (High) Tj T* [(wa) -300 (ter)] TJ ET")))
	f.Add([]byte(pdfOf(pdfRoot, pdfInfo, pdfPages, pdfPage, streamOf("", "BT /F 10 Tf <00010002> Tj"), pdfKana,
		streamOf("", mapHead+"1 beginbfchar <0001> <6F6E> endbfchar"+mapTail))))
	f.Add([]byte(encodedPDF("GBK-EUC-H", "b3b1cbae613fff80")))
	f.Add([]byte(drawnWith("/XObject << /X 7 0 R >>", "/X Do", streamOf("/Subtype /Form /Matrix [1 0 0 1 0 5]",
		"BT /F 10 Tf (b) Tj ET /X Do"))))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := fetched("application/pdf", string(body))
		if err := apart(p, Cut{}); err != nil {
			t.Error(err)
		}
	})
}
