package brcode

import "fmt"

// crcTable has, for every byte, the remainder after eight steps of dividing that byte by the
// polynomial 0x1021. With the table CRC takes one step for each byte.
var crcTable = makeCRCTable()

func makeCRCTable() (table [256]uint16) {
	for i := range table {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x1021
			} else {
				c <<= 1
			}
		}
		table[i] = c
	}
	return table
}

// CRC returns the CRC-16/CCITT-FALSE of s, with which every BR Code ends: polynomial
// 0x1021, initial value 0xFFFF, nothing reflected, nothing inverted at the end.
// CRC("123456789") is 0x29B1. In a code it covers everything before its own four digits,
// the "6304" included (EMV QR Code specification for merchant-presented codes, field 63).
func CRC(s string) uint16 {
	crc := uint16(0xFFFF)
	for i := range len(s) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^s[i]]
	}
	return crc
}

// crcDigits returns the value of field 63 of a text that ends with "6304": its CRC in four
// upper-case hexadecimal digits.
func crcDigits(text string) string { return fmt.Sprintf("%04X", CRC(text)) }
