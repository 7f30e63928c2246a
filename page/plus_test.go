package page

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/internal/test/pictures"
)

const (
	endDate  = `<plus:LicenseEndDate>2026-03-31</plus:LicenseEndDate>`
	vocab    = "http://ns.useplus.org/ldf/vocab/"
	licensed = `plus:LicenseEndDate="2026-03-31"`
)

func TestPlusInPictures(t *testing.T) {
	packet := pictures.XMP(licensed, "")
	want := &acap.Plus{EndDate: []string{"2026-03-31"}}
	big := pictures.XMP(licensed+` photoshop:Headline="`+strings.Repeat("x", maxXMP)+`"`, "")
	for name, c := range map[string]struct {
		body []byte
		want *acap.Plus
	}{
		"JPEG": {pictures.JPEG(packet), want},
		// both segments have the identifier of XMP, and nothing says which one to use
		"JPEG, another segment": {pictures.JPEG("about something else", packet), nil},
		"JPEG, fill bytes": {bytes.Replace(pictures.JPEG(packet), []byte("\xff\xe1"), []byte("\xff\xff\xff\xe1"),
			1), want},
		"JPEG, zero terminated": {pictures.JPEG(packet + "\x00"), want},
		"JPEG without":          {pictures.JPEG(), nil},
		"JPEG, two packets":     {pictures.JPEG(packet, packet), nil},
		"JPEG, cut behind it":   {pictures.JPEG(packet)[:len(packet)+40], want},
		"JPEG, cut within it":   {pictures.JPEG(packet)[:len(packet)], nil},
		"PNG":                   {pictures.PNG(packet), want},
		"PNG, compressed":       {pictures.PackedPNG(packet), want},
		"PNG, two packets":      {pictures.PNG(packet, packet), nil},
		"PNG, cut within it":    {pictures.PNG(packet)[:len(packet)], nil},
		"PNG, too long":         {pictures.PNG(big), nil},
		"PNG, another keyword": {bytes.Replace(pictures.PNG(packet), []byte("adobe.xmp\x00"), []byte("adobe.xmq\x00"),
			1), nil},
		"PNG, no text": {bytes.Replace(pictures.PNG(packet), []byte("iTXt"), []byte("zTXt"), 1), nil},
		"PNG, unknown method": {bytes.Replace(pictures.PackedPNG(packet), []byte("\x00\x01\x00en"),
			[]byte("\x00\x01\x01en"), 1), nil},
		"WebP":                   {pictures.WebP(packet), want},
		"WebP, odd packet":       {pictures.WebP(packet + strings.Repeat(" ", 1-len(packet)%2)), want},
		"WebP, even packet":      {pictures.WebP(packet + strings.Repeat(" ", len(packet)%2)), want},
		"WebP, two packets":      {pictures.WebP(packet, packet), nil},
		"WebP, cut within it":    {pictures.WebP(packet)[:len(packet)], nil},
		"TIFF, little endian":    {pictures.TIFF(binary.LittleEndian, packet), want},
		"TIFF, big endian":       {pictures.TIFF(binary.BigEndian, packet), want},
		"TIFF without":           {pictures.TIFF(binary.BigEndian, ""), nil},
		"TIFF, cut within it":    {pictures.TIFF(binary.BigEndian, packet)[:len(packet)], nil},
		"TIFF, cut in directory": {pictures.TIFF(binary.BigEndian, packet)[:40], nil},
		"TIFF, cut in header":    {[]byte("MM\x00*\x00\x00"), nil},
		"TIFF, far directory":    {[]byte("MM\x00*\xff\xff\xff\xff"), nil},
		"HTML":                   {[]byte(packet), nil},
		"nothing":                {nil, nil},
		"signatures alone":       {[]byte("\x89PNG\r\n\x1a\n"), nil},
	} {
		// the format is recognised by the bytes, whatever the declared type
		for _, mime := range []string{"image/jpeg", "text/html"} {
			p := New([]Hop{{URL: address, Header: http.Header{"Content-Type": {mime}}, Body: c.body}})
			if got := p.Own().Plus; !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s as %s: %+v", name, mime, got)
			}
		}
	}
}

func TestPlusProperties(t *testing.T) {
	end := &acap.Plus{EndDate: []string{"2026-03-31"}}
	credit := func(p acap.Plus) *acap.Plus {
		p.CreditLine = []string{vocab + "CR-CAI"}
		return &p
	}
	const line = `<plus:CreditLineRequired rdf:resource="` + vocab + `CR-CAI"/>`
	for name, c := range map[string]struct {
		packet string
		want   *acap.Plus
	}{
		"element":   {pictures.XMP("", endDate), end},
		"attribute": {pictures.XMP(licensed, ""), end},
		"RDF alone": {pictures.RDF(`<rdf:Description ` + licensed + `/>`), end},
		"two descriptions": {pictures.RDF(
			`<rdf:Description photoshop:City="Tidewick"/><rdf:Description rdf:about="">` + endDate +
				`</rdf:Description>`), end},
		"two subjects": {pictures.RDF(`<rdf:Description rdf:about="a"/><rdf:Description rdf:about="b">` +
			endDate + `</rdf:Description>`), nil},
		"another prefix": {pictures.XMP("",
			`<p:LicenseEndDate xmlns:p="http://ns.useplus.org/ldf/xmp/1.0/">2026-03-31</p:LicenseEndDate>`), end},
		"another namespace": {pictures.XMP("",
			`<plus:LicenseEndDate xmlns:plus="http://example.com/">2026-03-31</plus:LicenseEndDate>`), nil},
		"without a prefix": {pictures.XMP(`LicenseEndDate="2026-03-31"`,
			`<LicenseEndDate>2026-03-31</LicenseEndDate>`), nil},
		"rdf:value": {pictures.XMP("",
			`<plus:LicenseEndDate rdf:parseType="Resource"><rdf:value>2026-03-31</rdf:value></plus:LicenseEndDate>`),
			end},
		"rdf:value as attribute": {pictures.XMP("", `<plus:LicenseEndDate rdf:value="2026-03-31"/>`), end},
		"text in pieces": {pictures.XMP("",
			`<plus:LicenseEndDate> 2026-<!-- March -->03<![CDATA[-31]]> </plus:LicenseEndDate>`), end},
		"qualified": {pictures.XMP("",
			`<plus:LicenseEndDate rdf:parseType="Resource"><rdf:value>2026-03-31</rdf:value>`+
				`<plus:Until>noon</plus:Until></plus:LicenseEndDate>`),
			&acap.Plus{EndDate: []string{"2026-03-31", "noon"}}},
		"said twice": {pictures.XMP(licensed, `<plus:LicenseEndDate>2027-01-01</plus:LicenseEndDate>`),
			&acap.Plus{EndDate: []string{"2026-03-31", "2027-01-01"}}},
		"of another resource": {pictures.XMP("", `<photoshop:DocumentAncestors><rdf:Description `+licensed+`>`+
			endDate+`</rdf:Description></photoshop:DocumentAncestors>`), nil},
		"empty": {pictures.XMP(`plus:LicenseEndDate=" "`,
			`<plus:ImageAlterationConstraints><rdf:Bag/></plus:ImageAlterationConstraints>`), nil},
		"bag": {pictures.XMP("", pictures.Bag("plus:ImageAlterationConstraints", vocab+"AL-CRP",
			"AL-FLP")+pictures.Bag("plus:ImageFileConstraints", "IF-MMD")),
			&acap.Plus{Alterations: []string{vocab + "AL-CRP", "AL-FLP"}, Files: []string{"IF-MMD"}}},
		"bag of references": {pictures.XMP("",
			`<plus:ImageAlterationConstraints><rdf:Bag>`+
				`<rdf:li rdf:resource="AL-CRP"/></rdf:Bag></plus:ImageAlterationConstraints>`),
			&acap.Plus{Alterations: []string{"AL-CRP"}}},
		"credit": {pictures.XMP(`photoshop:Credit="Ida Marsh &amp; Lantern"`, line),
			credit(acap.Plus{Credit: []string{"Ida Marsh & Lantern"}})},
		"credit alone is no term":    {pictures.XMP(`photoshop:Credit="Ida Marsh"`, ""), nil},
		"a credit that nobody wants": {pictures.XMP(`photoshop:Credit="Ida Marsh"`, endDate), end},
		"owners": {pictures.XMP("", line+
			`<plus:CopyrightOwner><rdf:Seq>`+
			`<rdf:li rdf:parseType="Resource"><plus:CopyrightOwnerName>A</plus:CopyrightOwnerName>`+
			`<plus:CopyrightOwnerID>1</plus:CopyrightOwnerID></rdf:li>`+
			`<rdf:li><rdf:Description plus:CopyrightOwnerName="B" plus:CopyrightOwnerID="2"/></rdf:li>`+
			`</rdf:Seq></plus:CopyrightOwner>`),
			credit(acap.Plus{Owners: []string{"A", "B"}})},
		"licensors": {pictures.XMP("", line+
			`<plus:Licensor><rdf:Seq>`+
			`<rdf:li plus:LicensorName="C" plus:LicensorURL="http://example.com/"/></rdf:Seq></plus:Licensor>`),
			credit(acap.Plus{Licensors: []string{"C"}})},
		"broken behind it": {pictures.XMP("", endDate+"<a></b>"), nil},
		"a document type":  {"<!DOCTYPE x>" + pictures.XMP(licensed, ""), nil},
		"an entity":        {pictures.XMP("", `<plus:LicenseEndDate>&date;</plus:LicenseEndDate>`), nil},
		"another encoding": {`<?xml version="1.0" encoding="ISO-8859-1"?>` + pictures.XMP(licensed, ""),
			nil},
		"goes on elsewhere": {pictures.XMP(licensed+
			` xmlns:n="http://ns.adobe.com/xmp/note/" n:HasExtendedXMP="00"`, ""), nil},
		"goes on elsewhere (element)": {pictures.XMP(licensed,
			`<n:HasExtendedXMP xmlns:n="http://ns.adobe.com/xmp/note/">00</n:HasExtendedXMP>`), nil},
		"no RDF": {"<a/>", nil},
		"too deep": {pictures.XMP("", "<plus:LicenseEndDate>"+strings.Repeat("<a>", 99)+
			strings.Repeat("</a>", 99)+"2026-03-31</plus:LicenseEndDate>"), nil},
		"too many": {pictures.XMP("",
			pictures.Bag("plus:ImageFileConstraints", make([]string, 999)...)+strings.Repeat(endDate, 99)), nil},
		"too long": {pictures.XMP(`plus:LicenseEndDate="`+strings.Repeat("2", 5000)+`"`, ""), nil},
		"too long (element)": {pictures.XMP("", `<plus:LicenseEndDate>`+strings.Repeat("2", 5000)+
			`</plus:LicenseEndDate>`), nil},
	} {
		if got := plus(pictures.PNG(c.packet)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestHostilePictures checks that a small file cannot cause much work.
func TestHostilePictures(t *testing.T) {
	var bomb bytes.Buffer
	z := zlib.NewWriter(&bomb)
	for range 64 {
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	chunk := pictures.PNG("\x00")
	at := bytes.Index(chunk, []byte("iTXt"))
	data := "XML:com.adobe.xmp\x00\x01\x00\x00\x00" + bomb.String()
	png := append(binary.BigEndian.AppendUint32(chunk[:at-4:at-4], uint32(len(data))), "iTXt"+data+"crc4"...)
	const entries = 65_535
	tiff := binary.LittleEndian.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), entries)
	tiff = append(tiff, bytes.Repeat([]byte("\xbc\x02\x07\x00\x00\x00\x01\x00\x00\x00\x00\x00"), entries)...)
	for name, body := range map[string][]byte{
		"a bomb":                  png,
		"a directory of XMP":      tiff,
		"segments":                append([]byte("\xff\xd8"), bytes.Repeat([]byte("\xff\xe1\x00\x02"), 1<<20)...),
		"fill bytes":              append([]byte("\xff\xd8"), bytes.Repeat([]byte("\xff"), 1<<22)...),
		"chunks of nothing":       append([]byte("RIFF\x00\x00\x00\x00WEBP"), make([]byte, 1<<22)...),
		"open elements":           pictures.PNG(pictures.RDF(strings.Repeat("<a>", 1<<18))),
		"open elements, property": pictures.PNG(pictures.XMP("", strings.Repeat("<a>", 1<<18))),
		"open elements, wanted":   pictures.PNG(pictures.XMP("", strings.Repeat("<plus:LicenseEndDate>", 1<<15))),
		"attributes":              pictures.PNG(pictures.XMP(strings.Repeat(`plus:LicenseEndDate="" `, 1<<15), "")),
	} {
		if got := plus(body); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzPlus(f *testing.F) {
	packet := pictures.XMP(licensed, pictures.Bag("plus:ImageAlterationConstraints", vocab+"AL-CRP"))
	for _, b := range [][]byte{pictures.JPEG(packet), pictures.PNG(packet), pictures.PackedPNG(packet),
		pictures.WebP(packet),
		pictures.TIFF(binary.LittleEndian, packet), pictures.TIFF(binary.BigEndian, packet)} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p := plus(body)
		if p == nil {
			return
		}
		values := 0
		for _, list := range [][]string{p.EndDate, p.CreditLine, p.Credit, p.Owners, p.Licensors, p.Alterations,
			p.Files} {
			for _, v := range list {
				values++
				if strings.TrimSpace(v) == "" || len(v) > maxXMPValue {
					t.Errorf("value %q", v)
				}
			}
		}
		if values == 0 || values > maxXMPValues {
			t.Errorf("%d values", values)
		}
	})
}

func FuzzXMP(f *testing.F) {
	f.Add(pictures.XMP(licensed, ""))
	f.Add(pictures.XMP("", endDate+pictures.Bag("plus:ImageAlterationConstraints", vocab+"AL-CRP")))
	f.Add(pictures.RDF(`<rdf:Description><plus:LicenseEndDate rdf:parseType="Resource">` +
		`<rdf:value>2026</rdf:value></plus:LicenseEndDate></rdf:Description>`))
	f.Fuzz(func(t *testing.T, packet string) {
		if p := plus(pictures.WebP(packet)); p != nil &&
			!strings.Contains(packet, "http://ns.useplus.org/ldf/xmp/1.0/") && !strings.Contains(packet, "&") {
			t.Errorf("%+v", p)
		}
	})
}
