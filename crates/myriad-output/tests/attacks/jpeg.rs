//! Builder of progressive JPEG files (ITU-T T.81 annexes B and G).

/// Gray image with many scans of AC coefficients, each of which states in a few bytes that nothing changes.
pub(crate) struct Progressive {
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) scans: u32,
}

impl Progressive {
    pub(crate) fn file(&self) -> Vec<u8> {
        let mut file = b"\xff\xd8\xff\xdb\x00\x43\x00".to_vec();
        file.extend([1; 64]);
        file.extend(b"\xff\xc2\x00\x0b\x08");
        file.extend([self.height.to_be_bytes(), self.width.to_be_bytes()].concat());
        file.extend(b"\x01\x01\x11\x00");
        // DC: one code word of one bit, meaning no difference. AC: one code word of one bit, a run of 2^14 finished
        // blocks.
        file.extend(table(0x00, 0x00));
        file.extend(table(0x10, 0xe0));
        let blocks = u32::from(self.width).div_ceil(8) * u32::from(self.height).div_ceil(8);
        file.extend(b"\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00");
        // A zero bit, the code word, for each block.
        file.extend(vec![0; blocks.div_ceil(8) as usize]);
        for _ in 0..self.scans {
            file.extend(b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00");
            let (mut bits, mut left) = (Bits::default(), blocks);
            while left > 0 {
                let run = left.clamp(1 << 14, (1 << 15) - 1);
                bits.push(0, 1);
                bits.push(run - (1 << 14), 14);
                left = left.saturating_sub(run);
            }
            file.extend(bits.done());
        }
        file.extend(b"\xff\xd9");
        file
    }
}

/// Returns a Huffman table with a single code word of one bit.
fn table(class: u8, symbol: u8) -> Vec<u8> {
    [&b"\xff\xc4\x00\x14"[..], &[class, 1], &[0; 15], &[symbol]].concat()
}

/// Bit writer, most significant bit first, which inserts a zero byte after each byte of ones.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    byte: u8,
    count: u8,
}

impl Bits {
    fn push(&mut self, value: u32, count: u32) {
        for at in (0..count).rev() {
            self.byte = self.byte << 1 | (value >> at & 1) as u8;
            self.count += 1;
            if self.count == 8 {
                self.bytes.push(self.byte);
                if self.byte == 0xff {
                    self.bytes.push(0);
                }
                (self.byte, self.count) = (0, 0);
            }
        }
    }

    fn done(mut self) -> Vec<u8> {
        while self.count > 0 {
            self.push(1, 1);
        }
        self.bytes
    }
}
