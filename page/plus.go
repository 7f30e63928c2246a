package page

import (
	"encoding/xml"

	"github.com/acapcrawl/acapcrawl/acap"
)

// plus reads the licence embedded in an image; nil if it contains no terms (P1 2.5.3.1,
// plus-terms). A licence that cannot be read completely is treated as absent.
func plus(body []byte) *acap.Plus {
	packet := xmpOf(body)
	if packet == nil {
		return nil
	}
	name := func(local string) xml.Name {
		return xml.Name{Space: "http://ns.useplus.org/ldf/xmp/1.0/", Local: local}
	}
	end, line, owner, licensor := name("LicenseEndDate"), name("CreditLineRequired"), name("CopyrightOwner"),
		name("Licensor")
	alterations, files := name("ImageAlterationConstraints"), name("ImageFileConstraints")
	mining := name("DataMining")
	// the credit line, as in IPTC Photo Metadata
	credit := xml.Name{Space: "http://ns.adobe.com/photoshop/1.0/", Local: "Credit"}
	found, err := readXMP(packet, map[xml.Name]xml.Name{end: end, line: line, credit: credit,
		alterations: alterations, files: files, mining: mining,
		owner: name("CopyrightOwnerName"), licensor: name("LicensorName")})
	if err != nil {
		return nil
	}
	p := &acap.Plus{EndDate: found[end], CreditLine: found[line], Alterations: found[alterations], Files: found[files],
		DataMining: found[mining]}
	if p.EndDate == nil && p.CreditLine == nil && p.Alterations == nil && p.Files == nil && p.DataMining == nil {
		return nil
	}
	if p.CreditLine != nil {
		p.Credit, p.Owners, p.Licensors = found[credit], found[owner], found[licensor]
	}
	return p
}
