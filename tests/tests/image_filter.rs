//! Real images: drawn here, scaled by the server, and compared by pixel, by this test and by a real Chromium.
//!
//! covers: image_filter image_filter_format

use std::io::{Read, Write};

use flate2::Crc;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use myriad_tests::{Place, Request, Server, chromium};

type Color = [u8; 3];

/// Colors of the quarters: top left, top right, bottom left, bottom right.
const QUARTERS: [Color; 4] = [[200, 30, 30], [30, 160, 40], [40, 60, 200], [230, 210, 60]];

/// Returns an image of four quarters as PNG (RFC 2083) without filters. Each color is brightened by a random value up
/// to `grain`.
fn png(width: u32, height: u32, grain: u8) -> Vec<u8> {
    let (mut lines, mut random) = (Vec::new(), fastrand::Rng::with_seed(7));
    for y in 0..height {
        lines.push(0);
        for x in 0..width {
            let color = QUARTERS[(y * 2 / height * 2 + x * 2 / width) as usize];
            lines.extend(color.map(|part| part + random.u8(..=grain)));
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(&lines).expect("compressed lines");
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in
        [(b"IHDR", head), (b"IDAT", packed.finish().expect("compressed lines")), (b"IEND", Vec::new())]
    {
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(&data);
        file.extend((data.len() as u32).to_be_bytes());
        file.extend([&kind[..], &data, &sum.sum().to_be_bytes()].concat());
    }
    file
}

/// Returns size and pixels of a PNG of eight bits per color, with or without transparency.
fn drawn(file: &[u8]) -> (usize, usize, Vec<Color>) {
    assert!(file.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", file[..file.len().min(20)].escape_ascii());
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize;
    let (width, height) = (number(16), number(20));
    let (mut packed, mut colors, mut at) = (Vec::new(), Vec::new(), 8);
    while at < file.len() {
        let (length, kind) = (number(at), &file[at + 4..at + 8]);
        let data = &file[at + 8..at + 8 + length];
        match kind {
            b"IDAT" => packed.extend(data),
            b"PLTE" => colors = data.chunks(3).map(|color| [color[0], color[1], color[2]]).collect(),
            _ => {}
        }
        at += length + 12;
    }
    let bytes = match (file[24], file[25]) {
        (8, 2) => 3,
        (8, 6) => 4,
        (_, 3) => 0,
        other => panic!("unexpected bit depth and color type: {other:?}"),
    };
    let (depth, mut lines) = (usize::from(file[24]), Vec::new());
    ZlibDecoder::new(&packed[..]).read_to_end(&mut lines).expect("packed lines");
    let row = if bytes == 0 { (width * depth).div_ceil(8) } else { width * bytes };
    let (mut above, mut pixels) = (vec![0; row], Vec::new());
    for line in lines.chunks(row + 1) {
        above = unfiltered(line[0], &line[1..], &above, bytes.max(1));
        for x in 0..width {
            pixels.push(match bytes {
                0 => {
                    let shift = 8 - depth - x * depth % 8;
                    colors[usize::from(above[x * depth / 8] >> shift) & ((1 << depth) - 1)]
                }
                bytes => [above[x * bytes], above[x * bytes + 1], above[x * bytes + 2]],
            });
        }
    }
    (width, height, pixels)
}

/// Reverses the filter of a line (RFC 2083 section 6).
fn unfiltered(filter: u8, line: &[u8], above: &[u8], step: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(line.len());
    for (at, byte) in line.iter().enumerate() {
        let before = |from: &[u8]| at.checked_sub(step).map_or(0, |at| i32::from(from[at]));
        let (left, up, corner) = (before(&out), i32::from(above[at]), before(above));
        let guess = left + up - corner;
        let paeth = [left, up, corner].into_iter().min_by_key(|near| (guess - near).abs()).unwrap_or(0);
        let add = [0, left, up, i32::midpoint(left, up), paeth][usize::from(filter)];
        out.push(byte.wrapping_add(add as u8));
    }
    out
}

/// Returns the colors in the middle of the quarters.
fn quarters((width, height, pixels): &(usize, usize, Vec<Color>)) -> [Color; 4] {
    let at = |x: usize, y: usize| pixels[height * y / 4 * width + width * x / 4];
    [at(1, 1), at(3, 1), at(1, 3), at(3, 3)]
}

fn serve() -> Server {
    let place = Place::new();
    place.write("html/four.png", png(200, 100, 0));
    place.write("html/grain.png", png(200, 100, 20));
    let mut broken = png(200, 100, 0);
    let at = broken.len() / 2;
    broken[at..at + 8].fill(0xaa);
    place.write("html/broken.png", broken);
    // Everything runs in the event `load`, which waits for the images: images that are decoded asynchronously may
    // exceed the time that the browser gives a page.
    let script = "onload = () => { document.title = Array.from(document.images, picture => {
          const canvas = document.createElement('canvas');
          const [w, h] = [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
          const paper = canvas.getContext('2d'); paper.drawImage(picture, 0, 0);
          const at = (x, y) => paper.getImageData(w * x / 4, h * y / 4, 1, 1).data.slice(0, 3).join(',');
          return [w + 'x' + h, at(1, 1), at(3, 1), at(1, 3), at(3, 3)].join(' '); }).join(';'); }";
    let pictures = ["four.png", "webp/grain.png", "avif/grain.png"];
    let pictures = pictures.map(|name| format!("<img decoding=sync src=/small/{name}>")).concat();
    place.write(
        "html/look.html",
        format!("<!doctype html><title>not yet</title><script>{script}</script><body>{pictures}"),
    );
    Server::start(
        place,
        "access_log @DIR@/access.log;
         server { listen 127.0.0.1:@PORT@; root @DIR@/html;
            location /small/ { alias @DIR@/html/; image_filter resize 50 -; }
            location /small/webp/ { alias @DIR@/html/; image_filter resize 50 -; image_filter_format webp; }
            location /small/avif/ { alias @DIR@/html/; image_filter resize 50 -; image_filter_format avif; }
            location /cut/ { alias @DIR@/html/; image_filter crop 60 60; }
            location /turned/ { alias @DIR@/html/; image_filter rotate 90; }
            location /size/ { alias @DIR@/html/; image_filter size; } }",
    )
}

#[test]
fn real_picture_is_made_smaller_cut_and_turned() {
    let server = serve();
    let get = |target: &str| {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.field("Content-Type")), (200, Some("image/png")), "{target}");
        drawn(&answer.body)
    };
    let small = get("/small/four.png");
    assert_eq!((small.0, small.1, quarters(&small)), (50, 25, QUARTERS));
    // First scaled to 120 x 60, then cropped to the middle half of each side.
    let cut = get("/cut/four.png");
    assert_eq!((cut.0, cut.1, quarters(&cut)), (60, 60, QUARTERS));
    // Counterclockwise: the top right quarter is now at the top left.
    let turned = get("/turned/four.png");
    let [a, b, c, d] = QUARTERS;
    assert_eq!((turned.0, turned.1, quarters(&turned)), (100, 200, [b, d, a, c]));
    let size = server.get("/size/four.png").text();
    assert!(
        size.contains("\"width\": 200") && size.contains("\"height\": 100") && size.contains("\"png\""),
        "{size}"
    );
    assert_eq!(server.get("/small/broken.png").status, 415);
}

#[test]
fn browsers_get_the_formats_that_they_take_and_see_the_same() {
    let server = serve();
    for (kind, taken) in [("webp", "image/webp,*/*"), ("avif", "image/avif,*/*")] {
        let request = Request::get(&format!("/small/{kind}/grain.png")).field("Accept", taken);
        let answer = server.fetch(&request);
        assert_eq!(answer.field("Content-Type"), Some(&*format!("image/{kind}")));
        let plain = server.get(&format!("/small/{kind}/grain.png"));
        assert_eq!(
            plain.field("Content-Type"),
            Some("image/png"),
            "without the type in `Accept`, the format is kept"
        );
        assert!(answer.body.len() < plain.body.len());
    }
    let asked = || server.read("access.log").lines().count();
    let url = format!("http://127.0.0.1:{}/look.html", server.port);
    let loaded = chromium::load(&server, &url, &[], asked);
    let title = loaded.page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let (title, _) = title.unwrap_or_else(|| panic!("{}", loaded.page));
    let seen: Vec<&str> = title.split(';').collect();
    assert_eq!(seen.len(), 3, "{title} {:?}", loaded.console);
    for seen in seen {
        let mut words = seen.split(' ');
        assert_eq!(words.next(), Some("50x25"), "{title}");
        for (color, wanted) in words.zip(QUARTERS) {
            let near = color
                .split(',')
                .zip(wanted)
                .all(|(seen, wanted)| seen.parse::<u8>().is_ok_and(|seen| seen.abs_diff(wanted) < 30));
            assert!(near, "{color} for {wanted:?} in {title}");
        }
    }
}
