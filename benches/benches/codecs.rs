//! The codecs against memcpy. `cargo bench --package bergamot-benches`

use std::hint::black_box;

use bergamot_benches::Bench;
use bergamot_nzb::Limits;
use bergamot_yenc::{Decoder, encode};

const ARTICLE: usize = 700 << 10;
const ARTICLES: usize = 40;

fn main() {
    let content: Vec<u8> =
        (0..ARTICLE as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    let part = encode::Part {
        name: "bench.bin",
        number: 1,
        total: 1,
        file_size: ARTICLE as u64,
        offset: 0,
        data: &content,
    };
    let mut wire = Vec::new();
    part.write_wire(&mut wire);
    let mut out = vec![0; wire.len()];
    let bytes = ARTICLES * wire.len();
    let mut bench = Bench::new();
    bench.measure("memcpy of the encoded bytes (yardstick)", bytes, || {
        for _ in 0..ARTICLES {
            out.copy_from_slice(black_box(&wire));
        }
    });
    bench.measure("yEnc decode with CRC, in reads of 64 KiB", bytes, || {
        let mut decoder = Decoder::new();
        for _ in 0..ARTICLES {
            decode(&mut decoder, &wire, &mut out);
        }
    });
    bench.measure("CRC-32 alone", ARTICLES * ARTICLE, || {
        for _ in 0..ARTICLES {
            black_box(crc32fast::hash(black_box(&content)));
        }
    });
    bench.measure("yEnc encode", ARTICLES * ARTICLE, || {
        for _ in 0..ARTICLES {
            wire.clear();
            black_box(&part).write_wire(&mut wire);
        }
    });
    let nzb = nzb(200_000);
    bench.measure("NZB of 200,000 segments", nzb.len(), || {
        black_box(bergamot_nzb::read(nzb.as_bytes(), &Limits::default()).expect("a good NZB"));
    });
}

fn decode(decoder: &mut Decoder, wire: &[u8], out: &mut [u8]) {
    let mut written = 0;
    for piece in wire.chunks(64 << 10) {
        written += decoder.decode(piece, &mut out[written..]).written;
    }
    let outcome = decoder.finish();
    assert!(outcome.fault.is_none(), "the bench decodes what it encoded");
}

fn nzb(segments: usize) -> String {
    let mut text = "<?xml version=\"1.0\"?><nzb><file subject=\"&quot;a.bin&quot; yEnc (1/200000)\" \
                    poster=\"p\" date=\"1700000000\"><groups><group>a.b</group></groups><segments>\n"
        .to_owned();
    for number in 1..=segments {
        let id = format!("{number:08x}abcdefghijklmnopqrstuvwxyz@bench.example");
        text.push_str(&format!("<segment bytes=\"740000\" number=\"{number}\">{id}</segment>\n"));
    }
    text + "</segments></file></nzb>\n"
}
