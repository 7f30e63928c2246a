// Package pictures creates images of one pixel with metadata, for tests. The result for the same
// arguments is always the same bytes.
package pictures

import (
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"strings"
)

// XMP returns an XMP packet about a picture. attributes are properties in the short form, elements
// are properties in the long form. The prefixes rdf, plus and photoshop are declared.
func XMP(attributes, elements string) string {
	return `<?xpacket begin="` + "\ufeff" + `" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">` +
		RDF(`<rdf:Description rdf:about="" `+attributes+`>`+elements+`</rdf:Description>`) +
		`</x:xmpmeta><?xpacket end="w"?>`
}

// RDF returns the inner part of a packet with these descriptions.
func RDF(descriptions string) string {
	return `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"` +
		` xmlns:plus="http://ns.useplus.org/ldf/xmp/1.0/"` +
		` xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/">` + descriptions + `</rdf:RDF>`
}

// Bag returns a property with one or more values.
func Bag(property string, values ...string) string {
	return "<" + property + "><rdf:Bag><rdf:li>" + strings.Join(values, "</rdf:li><rdf:li>") + "</rdf:li></rdf:Bag></" +
		property + ">"
}

// JPEG returns a grey picture with each packet in its own segment.
func JPEG(packets ...string) []byte {
	segment := func(b []byte, marker byte, data string) []byte {
		b = append(b, 0xff, marker)
		return append(binary.BigEndian.AppendUint16(b, uint16(len(data)+2)), data...)
	}
	b := []byte{0xff, 0xd8}
	for _, p := range packets {
		b = segment(b, 0xe1, "http://ns.adobe.com/xap/1.0/\x00"+p)
	}
	b = segment(b, 0xdb, "\x00"+strings.Repeat("\x01", 64))
	b = segment(b, 0xc0, "\x08\x00\x01\x00\x01\x01\x01\x11\x00")
	b = segment(b, 0xc4, "\x00\x01"+strings.Repeat("\x00", 16)) // a table with one code, of one bit, for the value zero
	b = segment(b, 0xc4, "\x10\x01"+strings.Repeat("\x00", 16))
	b = segment(b, 0xda, "\x01\x01\x00\x00\x3f\x00")
	return append(b, 0x3f, 0xff, 0xd9)
}

// PNG returns a black picture with each packet in its own chunk.
func PNG(packets ...string) []byte { return png("\x00\x00\x00\x00", plain, packets) }

// PackedPNG is like PNG, but the packets are in zlib format.
func PackedPNG(packets ...string) []byte { return png("\x01\x00en\x00XMP\x00", stored, packets) }

func plain(s string) string { return s }

func png(head string, pack func(string) string, packets []string) []byte {
	chunk := func(b []byte, kind, data string) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		b = append(b, kind+data...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(kind+data)))
	}
	b := chunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", "\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00")
	for _, p := range packets {
		b = chunk(b, "iTXt", "XML:com.adobe.xmp\x00"+head+pack(p))
	}
	return chunk(chunk(b, "IDAT", stored("\x00\x00")), "IEND", "")
}

// stored returns s in zlib format, uncompressed so that the bytes are always the same. s is shorter
// than 64 KiB.
func stored(s string) string {
	b := binary.LittleEndian.AppendUint16([]byte("\x78\x01\x01"), uint16(len(s)))
	b = append(binary.LittleEndian.AppendUint16(b, ^uint16(len(s))), s...)
	return string(binary.BigEndian.AppendUint32(b, adler32.Checksum([]byte(s))))
}

// WebP returns a picture in the extended format with the packets after the pixel. The chunk of the
// pixel has an odd length.
func WebP(packets ...string) []byte {
	chunk := func(b []byte, kind, data string) []byte {
		b = append(binary.LittleEndian.AppendUint32(append(b, kind...), uint32(len(data))), data...)
		if len(data)%2 > 0 {
			b = append(b, 0)
		}
		return b
	}
	b := chunk([]byte("WEBP"), "VP8X", "\x04"+strings.Repeat("\x00", 9))
	b = chunk(b, "VP8L", "\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07")
	for _, p := range packets {
		b = chunk(b, "XMP ", p)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(b))), b...)
}

// TIFF returns a black picture in the given byte order, with the packet if that is not empty.
func TIFF(order binary.AppendByteOrder, packet string) []byte {
	const short, long, undefined = 3, 4, 7
	fields := [][3]uint32{{256, short, 1}, {257, short, 1}, {258, short, 8}, {259, short, 1}, {262, short, 1},
		{273, long, 8}, {278, short, 1}, {279, short, 1}}
	if packet != "" {
		fields = append(fields, [3]uint32{700, undefined, 0})
	}
	mark := "II*\x00"
	if order == binary.AppendByteOrder(binary.BigEndian) {
		mark = "MM\x00*"
	}
	const directory = 10 // offset of the directory, after the pixel and a byte that makes this offset even
	b := append(order.AppendUint32([]byte(mark), directory), 0, 0)
	b = order.AppendUint16(b, uint16(len(fields)))
	for _, f := range fields {
		tag, kind, value := f[0], f[1], f[2]
		b = order.AppendUint16(order.AppendUint16(b, uint16(tag)), uint16(kind))
		switch kind {
		case short:
			b = order.AppendUint16(order.AppendUint16(order.AppendUint32(b, 1), uint16(value)), 0)
		case long:
			b = order.AppendUint32(order.AppendUint32(b, 1), value)
		default:
			b = order.AppendUint32(order.AppendUint32(b, uint32(len(packet))), uint32(directory+2+12*len(fields)+4))
		}
	}
	return append(order.AppendUint32(b, 0), packet...)
}
