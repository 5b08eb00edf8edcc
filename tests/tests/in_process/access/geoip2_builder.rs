//! Builder of databases for tests, in MaxMind's format (MaxMind-DB-spec, version 2.0): records of 24 bits, IPv6
//! addresses.

/// Value of a database.
pub(super) enum TestValue {
    Text(&'static str),
    Bytes(&'static [u8]),
    Bool(bool),
    Double(f64),
    Float(f32),
    U16(u16),
    U32(u32),
    I32(i32),
    U64(u64),
    U128(u128),
    Map(Vec<(&'static str, TestValue)>),
    List(Vec<TestValue>),
}

/// Writes the control bytes of a value: its type and size.
fn begin(out: &mut Vec<u8>, kind: u8, size: usize) {
    assert!(size < 29, "larger values need another size encoding");
    if kind < 8 {
        out.push(kind << 5 | size as u8);
    } else {
        out.extend([size as u8, kind - 7]);
    }
}

fn scalar(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    begin(out, kind, bytes.len());
    out.extend_from_slice(bytes);
}

impl TestValue {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => scalar(out, 2, text.as_bytes()),
            Self::Double(value) => scalar(out, 3, &value.to_be_bytes()),
            Self::Bytes(bytes) => scalar(out, 4, bytes),
            Self::U16(value) => scalar(out, 5, &value.to_be_bytes()),
            Self::U32(value) => scalar(out, 6, &value.to_be_bytes()),
            Self::Map(pairs) => {
                begin(out, 7, pairs.len());
                for (key, value) in pairs {
                    Self::Text(key).write(out);
                    value.write(out);
                }
            }
            Self::I32(value) => scalar(out, 8, &value.to_be_bytes()),
            Self::U64(value) => scalar(out, 9, &value.to_be_bytes()),
            Self::U128(value) => scalar(out, 10, &value.to_be_bytes()),
            Self::List(values) => {
                begin(out, 11, values.len());
                for value in values {
                    value.write(out);
                }
            }
            Self::Bool(value) => begin(out, 14, usize::from(*value)),
            Self::Float(value) => scalar(out, 15, &value.to_be_bytes()),
        }
    }
}

/// Target of a record in a tree node.
#[derive(Clone, Copy)]
enum RecordTarget {
    Nothing,
    Node(usize),
    Data(usize),
}

/// Returns a database that contains the value of each network, written `ADDRESS/BITS` in IPv6. `built_s` is its build
/// time, in seconds since the Unix epoch.
pub(super) fn database(networks: &[(&str, TestValue)], built_s: u64) -> Vec<u8> {
    let mut nodes = vec![[RecordTarget::Nothing; 2]];
    let mut data = Vec::new();
    for (network, value) in networks {
        let (address, bits) = network.split_once('/').expect("a network");
        let address = u128::from(address.parse::<std::net::Ipv6Addr>().expect("an address"));
        insert(&mut nodes, address, bits.parse().expect("a number"), RecordTarget::Data(data.len()));
        value.write(&mut data);
    }
    let count = nodes.len();
    let mut out = Vec::new();
    for side in nodes.iter().flatten() {
        let record = match side {
            RecordTarget::Nothing => count,
            RecordTarget::Node(node) => *node,
            RecordTarget::Data(offset) => count + 16 + offset,
        };
        out.extend_from_slice(&(record as u32).to_be_bytes()[1..]);
    }
    out.extend([0; 16]);
    out.extend(data);
    out.extend(b"\xab\xcd\xefMaxMind.com");
    metadata(count, built_s).write(&mut out);
    out
}

fn insert(nodes: &mut Vec<[RecordTarget; 2]>, address: u128, bits: u32, data: RecordTarget) {
    let mut at = 0;
    for bit in 0..bits {
        let side = (address >> (127 - bit) & 1) as usize;
        if bit == bits - 1 {
            nodes[at][side] = data;
        } else if let RecordTarget::Node(next) = nodes[at][side] {
            at = next;
        } else {
            nodes.push([RecordTarget::Nothing; 2]);
            let next = nodes.len() - 1;
            nodes[at][side] = RecordTarget::Node(next);
            at = next;
        }
    }
}

fn metadata(count: usize, built_s: u64) -> TestValue {
    TestValue::Map(vec![
        ("binary_format_major_version", TestValue::U16(2)),
        ("binary_format_minor_version", TestValue::U16(0)),
        ("build_epoch", TestValue::U64(built_s)),
        ("database_type", TestValue::Text("Test")),
        ("description", TestValue::Map(vec![("en", TestValue::Text("for tests"))])),
        ("ip_version", TestValue::U16(6)),
        ("languages", TestValue::List(vec![TestValue::Text("en")])),
        ("node_count", TestValue::U32(count as u32)),
        ("record_size", TestValue::U16(24)),
    ])
}
