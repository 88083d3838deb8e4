//! Bytes as hexadecimal digits, and back.

/// Two small digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The bytes that these digits stand for, if there are just enough of them.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.len() != N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let all: [u8; 256] = std::array::from_fn(|at| at as u8);
        assert_eq!(decode(&encode(&all)), Some(all));
        assert_eq!(encode(&[0, 9, 10, 255]), "00090aff");
        assert_eq!(decode("AbCd"), Some([0xab, 0xcd]));
        for text in ["", "abc", "abcdef", "+a+b", "ä0", "g000"] {
            assert_eq!(decode::<2>(text), None, "{text}");
        }
    }
}
