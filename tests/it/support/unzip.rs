//! A reader of zip archives, to check ours by: it takes nothing for granted and nothing that is not plain.

use libdeflater::Decompressor;

fn number<const N: usize>(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + N].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

/// Reads an archive as most readers do: from the directory at its end. Checks that the entries say the same.
pub fn read_back(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let end = archive.len() - 22;
    assert_eq!(&archive[end..end + 4], b"PK\x05\x06");
    let (count, length, start) =
        (number::<2>(archive, end + 10), number::<4>(archive, end + 12), number::<4>(archive, end + 16));
    assert_eq!(start + length, end, "nothing lies between the directory and the end");
    let (mut at, mut next, mut files) = (start, 0, Vec::new());
    for _ in 0..count {
        let entry = &archive[at..];
        assert_eq!(&entry[..4], b"PK\x01\x02");
        assert_eq!(number::<4>(entry, 38) >> 16, 0o100_644);
        let (method, crc) = (number::<2>(entry, 10), number::<4>(entry, 16));
        let (packed, size, name_length) = (number::<4>(entry, 20), number::<4>(entry, 24), number::<2>(entry, 28));
        let offset = number::<4>(entry, 42);
        assert_eq!(offset, next, "nothing lies between two entries");
        let name = &entry[46..46 + name_length];
        let local = &archive[offset..];
        assert_eq!(&local[..4], b"PK\x03\x04");
        assert_eq!(&local[4..30], &entry[6..32], "both headers say the same");
        assert_eq!(&local[30..30 + name_length], name);
        let data = &local[30 + name_length..30 + name_length + packed];
        let content = match method {
            0 => data.to_vec(),
            8 => {
                let mut content = vec![0; size];
                assert_eq!(Decompressor::new().deflate_decompress(data, &mut content), Ok(size));
                content
            }
            other => panic!("method {other}"),
        };
        assert_eq!((content.len(), libdeflater::crc32(&content) as usize), (size, crc));
        files.push((String::from_utf8(name.to_vec()).unwrap(), content));
        next = offset + 30 + name_length + packed;
        at += 46 + name_length;
    }
    assert_eq!((next, at), (start, end));
    files
}
