//! Builder of PNG files (W3C, PNG Specification, third edition) whose chunks decompress to large data.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress};

pub(crate) type Chunk = (&'static [u8; 4], Vec<u8>);

fn chunk((kind, data): &Chunk) -> Vec<u8> {
    let mut sum = Crc::new();
    sum.update(*kind);
    sum.update(data);
    [&(data.len() as u32).to_be_bytes()[..], *kind, data, &sum.sum().to_be_bytes()].concat()
}

fn file(chunks: &[Chunk]) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunks.iter().flat_map(chunk).collect()].concat()
}

fn header(width: u32, height: u32) -> Chunk {
    (b"IHDR", [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).expect("compressed bytes");
    packer.finish().expect("compressed bytes")
}

/// Returns an image of 16 x 16 pixels with these chunks before its pixels.
pub(crate) fn with(chunks: &[Chunk]) -> Vec<u8> {
    let pixels = packed(&[0; 16 * (1 + 16 * 3)]);
    file(&[&[header(16, 16)], chunks, &[(b"IDAT", pixels), (b"IEND", Vec::new())]].concat())
}

/// Returns an image of random pixels.
pub(crate) fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    let line = || [vec![0], (0..width * 3).map(|_| random.u8(..)).collect()].concat();
    let pixels = packed(&std::iter::repeat_with(line).take(height as usize).flatten().collect::<Vec<u8>>());
    file(&[header(width, height), (b"IDAT", pixels), (b"IEND", Vec::new())])
}

/// Returns a file with only the header of an image, and no pixels.
pub(crate) fn head(width: u32, height: u32) -> Vec<u8> {
    file(&[header(width, height), (b"IDAT", Vec::new())])
}

/// Returns an image of one row, with a color profile.
pub(crate) fn line(width: u32) -> Vec<u8> {
    file(&[
        header(width, 1),
        (b"iCCP", profile(200 << 20)),
        (b"IDAT", packed(&[0; 100])),
        (b"IEND", Vec::new()),
    ])
}

/// Returns the data of a chunk with a color profile that decompresses to `length` zero bytes.
pub(crate) fn profile(length: u32) -> Vec<u8> {
    [&b"name\0\0"[..], &zeros(length)].concat()
}

/// Returns chunks of each text type that decompress to `length` bytes, and long uncompressed texts.
pub(crate) fn texts(length: u32) -> Vec<Chunk> {
    let text = zeros(length);
    let mut chunks: Vec<Chunk> = vec![
        (b"zTXt", [&b"Comment\0\0"[..], &text].concat()),
        (b"iTXt", [&b"Comment\0\x01\0en\0Comment\0"[..], &text].concat()),
        (b"tEXt", [&b"Comment\0"[..], &[b'a'; 200_000]].concat()),
        (b"eXIf", [&b"MM\0\x2a\0\0\0\x08\0\0"[..], &[0; 100_000]].concat()),
    ];
    chunks.extend((0..1000).map(|_| (b"tEXt", b"Comment\0short".to_vec())));
    chunks
}

/// Returns the chunks of an animation with `count` frames, the first of which is the default image.
pub(crate) fn frames(count: u32) -> Vec<Chunk> {
    let control = |number: u32| {
        let sides = [16_u32, 16, 0, 0].map(u32::to_be_bytes).concat();
        (b"fcTL", [&number.to_be_bytes()[..], &sides, b"\0\x01\0\x0a\0\0"].concat())
    };
    let mut chunks = vec![(b"acTL", [count.to_be_bytes(), 0_u32.to_be_bytes()].concat()), control(0)];
    chunks.extend((1..count).map(|_| (b"tEXt", b"Comment\0frame".to_vec())));
    chunks
}

/// Returns `length` zero bytes compressed, as one compressed block that is repeated.
fn zeros(length: u32) -> Vec<u8> {
    const BLOCK: u32 = 1 << 20;
    let mut packer = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(64 << 10);
    packer.compress_vec(&vec![0; BLOCK as usize], &mut block, FlushCompress::Full).expect("room for a block");
    let mut packed = b"\x78\x9c".to_vec();
    for _ in 0..length / BLOCK {
        packed.extend(&block);
    }
    // An empty last block, and the Adler-32 checksum: its low half stays 1, its high half counts the bytes.
    packed.extend(b"\x03\0");
    packed.extend(((length / BLOCK * BLOCK % 65_521) << 16 | 1).to_be_bytes());
    packed
}
