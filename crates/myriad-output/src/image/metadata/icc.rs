//! Color profiles (ICC.1:2022): comparison with sRGB.

use super::numbers::be32;

/// Offset of the tag table.
const TAGS: usize = 128;
/// Maximum number of tags of a profile that is read; profiles of displays have about 17.
const MAX_TAGS: usize = 100;
/// Colors of sRGB's red, green and blue in the profile connection space (X, Y, Z).
const COLORANTS: [(&[u8], [f64; 3]); 3] = [
    (b"rXYZ", [0.4361, 0.2225, 0.0139]),
    (b"gXYZ", [0.3851, 0.7169, 0.0971]),
    (b"bXYZ", [0.1431, 0.0606, 0.7141]),
];
/// Maximum difference of a colorant.
const MAX_COLORANT_ERROR: f64 = 0.002;
/// Tags that take precedence over colorants and curves.
const OTHER_MODELS: [&[u8]; 7] = [b"A2B0", b"A2B1", b"A2B2", b"D2B0", b"D2B1", b"D2B2", b"cicp"];

/// Returns whether a profile defines the colors of sRGB: equal primaries and curves, so that each of the 256 levels of a
/// color is less than one level off. Returns false for a profile that is not understood.
pub(crate) fn is_srgb(profile: &[u8]) -> bool {
    has_curves_of_srgb(profile) == Some(true)
}

fn has_curves_of_srgb(profile: &[u8]) -> Option<bool> {
    if profile.get(16..24)? != b"RGB XYZ " {
        return None;
    }
    let count = be32(profile, TAGS)? as usize;
    if count > MAX_TAGS {
        return None;
    }
    let entries = profile.get(TAGS + 4..TAGS + 4 + 12 * count)?;
    let data_of = |name: &[u8]| {
        let entry = entries.chunks_exact(12).find(|entry| &entry[..4] == name)?;
        let (at, length) = (be32(entry, 4)? as usize, be32(entry, 8)? as usize);
        profile.get(at..at.checked_add(length)?)
    };
    if OTHER_MODELS.iter().any(|name| entries.chunks_exact(12).any(|entry| &entry[..4] == *name)) {
        return Some(false);
    }
    for (name, expected) in COLORANTS {
        let data = data_of(name)?;
        for (index, value) in expected.into_iter().enumerate() {
            if (fixed(data, 8 + 4 * index)? - value).abs() > MAX_COLORANT_ERROR {
                return Some(false);
            }
        }
    }
    for name in [b"rTRC", b"gTRC", b"bTRC"] {
        let curve = data_of(name)?;
        for level in 0..=255 {
            let light = light_of(curve, f64::from(level) / 255.0)?;
            let error = (level_of(light) - f64::from(level)).abs();
            // A parametric curve with a negative base has no value.
            if error.is_nan() || error >= 1.0 {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// Returns the signed number with 16 bits after the binary point (`s15Fixed16Number`) at offset `at`; `None` if `data`
/// is too short.
fn fixed(data: &[u8], at: usize) -> Option<f64> {
    Some(f64::from(be32(data, at)?.cast_signed()) / 65_536.0)
}

/// Converts a linear light value from 0 to 1 to the level, from 0 to 255, by which sRGB encodes it.
fn level_of(light: f64) -> f64 {
    let encoded = if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
    encoded * 255.0
}

/// Applies a curve (`curveType` or `parametricCurveType`) to a value from 0 to 1, and returns the linear light value.
/// Returns `None` for other types of curves, parametric functions other than 0 and 3, and truncated data.
fn light_of(curve: &[u8], value: f64) -> Option<f64> {
    match curve.get(..4)? {
        b"curv" => {
            let count = be32(curve, 8)? as usize;
            let entry = |index: usize| {
                let at = 12 + 2 * index;
                Some(f64::from(u16::from_be_bytes(curve.get(at..at + 2)?.try_into().ok()?)))
            };
            match count {
                0 => Some(value),
                1 => Some(value.powf(entry(0)? / 256.0)),
                _ => {
                    let place = value * (count - 1) as f64;
                    let first = entry(place as usize)?;
                    let second = entry((place as usize + 1).min(count - 1))?;
                    Some((first + (second - first) * place.fract()) / 65_535.0)
                }
            }
        }
        b"para" => {
            let number = |index: usize| fixed(curve, 12 + 4 * index);
            let gamma = number(0)?;
            match curve.get(8..10)? {
                [0, 0] => Some(value.powf(gamma)),
                [0, 3] => {
                    let (a, b, c, d) = (number(1)?, number(2)?, number(3)?, number(4)?);
                    Some(if value >= d { (a * value + b).powf(gamma) } else { c * value })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn number(value: f64) -> [u8; 4] {
        ((value * 65_536.0).round() as i32).to_be_bytes()
    }

    /// Returns the data of a parametric curve.
    fn parametric(kind: u8, numbers: &[f64]) -> Vec<u8> {
        let numbers = numbers.iter().flat_map(|value| number(*value));
        [&b"para\0\0\0\0\0"[..], &[kind, 0, 0]].concat().into_iter().chain(numbers).collect()
    }

    /// Returns the data of a curve with a table of 1,024 values.
    fn table(light: impl Fn(f64) -> f64) -> Vec<u8> {
        let values = (0..1024).map(|index| (light(f64::from(index) / 1023.0) * 65_535.0).round() as u16);
        let count = 1024_u32.to_be_bytes();
        [&b"curv\0\0\0\0"[..], &count].concat().into_iter().chain(values.flat_map(u16::to_be_bytes)).collect()
    }

    const CURVE: [f64; 5] = [2.4, 1.0 / 1.055, 0.055 / 1.055, 1.0 / 12.92, 0.04045];
    const DISPLAY_P3: [[f64; 3]; 3] =
        [[0.5151, 0.2412, -0.0011], [0.2919, 0.6922, 0.0419], [0.1572, 0.0666, 0.7841]];

    /// Returns a profile with these colorants and curve, and other tags before them.
    fn profile<'a>(colorants: [[f64; 3]; 3], curve: &[u8], others: &[&'a [u8]]) -> Vec<u8> {
        let text = |name: &&'a [u8]| (*name, b"text\0\0\0\0sRGB".to_vec());
        let mut tags: Vec<(&[u8], Vec<u8>)> = others.iter().map(text).collect();
        for ((name, _), values) in COLORANTS.iter().zip(colorants) {
            tags.push((*name, [&b"XYZ \0\0\0\0"[..], &values.map(number).concat()].concat()));
        }
        tags.extend([b"rTRC", b"gTRC", b"bTRC"].map(|name| (&name[..], curve.to_vec())));
        let (mut entries, mut data) = ((tags.len() as u32).to_be_bytes().to_vec(), Vec::new());
        for (name, bytes) in &tags {
            let at = TAGS + 4 + 12 * tags.len() + data.len();
            entries.extend(
                [*name, &(at as u32).to_be_bytes()[..], &(bytes.len() as u32).to_be_bytes()].concat(),
            );
            data.extend(bytes);
        }
        [&[0; 16][..], b"RGB XYZ ", &[0; TAGS - 24], &entries, &data].concat()
    }

    /// Returns a profile with the colors of sRGB.
    pub(crate) fn srgb() -> Vec<u8> {
        profile(COLORANTS.map(|(_, values)| values), &parametric(3, &CURVE), &[b"desc"])
    }

    /// Returns a profile with the colors of Display P3, whose description names sRGB.
    pub(crate) fn display_p3() -> Vec<u8> {
        profile(DISPLAY_P3, &parametric(3, &CURVE), &[b"desc"])
    }

    #[test]
    fn profile_with_the_primaries_and_curves_of_srgb_is_srgb() {
        assert!(is_srgb(&srgb()));
        let primaries = COLORANTS.map(|(_, values)| values);
        let light =
            |value: f64| if value < 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
        assert!(is_srgb(&profile(primaries, &table(light), &[b"desc"])));
    }

    #[test]
    fn other_profiles_are_not_srgb_whatever_their_name() {
        let primaries = COLORANTS.map(|(_, values)| values);
        assert!(!is_srgb(&display_p3()));
        let linear = b"curv\0\0\0\0\0\0\0\0";
        let gamma = b"curv\0\0\0\0\0\0\0\x01\x02\x33";
        for curve in [&linear[..], gamma, &parametric(0, &[2.2]), &parametric(1, &CURVE), b"curv", b""] {
            assert!(!is_srgb(&profile(primaries, curve, &[b"desc"])), "{curve:?}");
        }
        assert!(!is_srgb(&profile(primaries, &parametric(3, &CURVE), &[b"A2B0"])));
        let [gamma, a, b, c, _] = CURVE;
        let without_values = parametric(3, &[gamma, -a, -b, c, 0.0]);
        assert!(!is_srgb(&profile(primaries, &without_values, &[])), "a curve without values");
        let tags = [&b"desc"[..]; MAX_TAGS];
        assert!(is_srgb(&profile(primaries, &parametric(3, &CURVE), &tags[6..])));
        assert!(!is_srgb(&profile(primaries, &parametric(3, &CURVE), &tags[5..])), "too many tags");
        let mut gray = srgb();
        gray[16..20].copy_from_slice(b"GRAY");
        assert!(!is_srgb(&gray));
        (0..srgb().len()).for_each(|length| assert!(!is_srgb(&srgb()[..length]), "{length} bytes"));
    }
}
