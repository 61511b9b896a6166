//! What nobody can foresee.

use std::fs::File;
use std::io;
use std::io::Read;

/// Returns this many random bytes as hexadecimal digits.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(data_encoding::HEXLOWER.encode(&random))
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_are_never_the_same() {
        let (first, second) = (super::random_hex(6).unwrap(), super::random_hex(6).unwrap());
        assert!(first.len() == 12 && first != second, "{first} {second}");
    }
}
