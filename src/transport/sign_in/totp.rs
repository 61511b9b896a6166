//! One-time passwords that change with the time (RFC 6238, with SHA-1, six digits and half a minute, as GitHub has them).

use data_encoding::BASE32_NOPAD;
use sha1::Digest;
use sha1::Sha1;

use crate::base::Secret;

const STEP_SECONDS: u64 = 30;
const BLOCK: usize = 64;

/// What a person's authenticator has been given.
#[derive(Debug)]
pub struct Totp(Vec<u8>);

impl Totp {
    /// Reads a secret as it is shown to people: base32, in groups, in any case. `None` when it is not one.
    pub fn parse(secret: &Secret) -> Option<Self> {
        let plain: String = secret.expose().chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '=')).collect();
        let key = BASE32_NOPAD.decode(plain.to_ascii_uppercase().as_bytes()).ok()?;
        (!key.is_empty()).then_some(Totp(key))
    }

    /// Returns the password at this moment, in seconds since 1970.
    pub fn at(&self, seconds: u64) -> Secret {
        let hash = hmac_sha1(&self.0, &(seconds / STEP_SECONDS).to_be_bytes());
        let offset = usize::from(hash[19] & 0xf);
        let number = hash[offset..offset + 4].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        Secret::new(format!("{:06}", (number & 0x7fff_ffff) % 1_000_000))
    }

    /// Returns how many seconds the password of this moment is still good for.
    pub const fn left(seconds: u64) -> u64 {
        STEP_SECONDS - seconds % STEP_SECONDS
    }
}

/// RFC 2104.
fn hmac_sha1(key: &[u8], message: &[u8]) -> [u8; 20] {
    let mut block = [0; BLOCK];
    match key.len() > BLOCK {
        true => block[..20].copy_from_slice(&Sha1::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let inner = Sha1::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha1::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    #[test]
    fn the_passwords_are_those_of_the_standard() {
        // Appendix B of RFC 6238, the last six of its eight digits; the key is the ASCII text 12345678901234567890.
        let totp = Totp::parse(&secret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")).unwrap();
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(totp.at(seconds).expose(), expected, "{seconds}");
        }
        assert_eq!((Totp::left(59), Totp::left(60)), (1, 30));
    }

    #[test]
    fn codes_of_any_key_length_are_those_of_rfc_2202() {
        let hex = |bytes: [u8; 20]| data_encoding::HEXLOWER.encode(&bytes);
        assert_eq!(hex(hmac_sha1(&[0x0b; 20], b"Hi There")), "b617318655057264e28bc0b6fb378c8ef146be00");
        let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(hex(hmac_sha1(&[0xaa; 80], message)), "aa4ae5e15272d00e95705637ce8a3b55ed402112");
    }

    #[test]
    fn a_secret_is_read_as_people_copy_it() {
        let plain = Totp::parse(&secret("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")).unwrap();
        for text in ["gezd gnbv gy3t qojq gezd gnbv gy3t qojq", "GEZDGNBV-GY3TQOJQ-GEZDGNBV-GY3TQOJQ===\n"] {
            assert_eq!(Totp::parse(&secret(text)).unwrap().0, plain.0);
        }
        for text in ["", "  ", "0189", "no!", "é"] {
            assert!(Totp::parse(&secret(text)).is_none(), "{text}");
        }
    }
}
