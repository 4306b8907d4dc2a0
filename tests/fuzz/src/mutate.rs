//! Seeds in, neighbours of seeds out. Knows bytes and nothing of what they mean.
//!
//! **Invariant:** the same number to start from makes the same inputs.

/// Inputs are not made longer than this by mutation.
const LONGEST: usize = 4 * 1024;

/// Bytes that mean something to somebody here.
const MARKS: &[u8] =
    b":%@/\\\"'`~=!#-_.,;()[]{}<>&$*+? \t\r\n0179aAzZ\0\x08\x1b\x7f\x80\xc3\xe2\xf0\xff";

/// Pieces of text that take more than a byte.
const PIECES: [&str; 24] = [
    "\r\n",
    "%0A",
    "%25",
    "%C3%A4",
    "%c3",
    "ä",
    "日",
    "😀",
    "e\u{301}",
    "👨\u{200d}👩\u{200d}👧",
    "\u{202e}",
    "\u{2028}",
    "\u{85}",
    "\u{feff}",
    "“",
    "—",
    "```\n",
    "~~~",
    "\x1b[2K",
    "\x1b]0;",
    "18446744073709551615",
    "-1",
    "00",
    "agent:",
];

/// A sequence of numbers (xorshift64*).
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    pub const fn from(start: u64) -> Numbers {
        Numbers(start | 1)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Below `limit`; 0 if there is nothing below it.
    pub const fn below(&mut self, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        ((self.next() >> 33) as usize) % limit
    }
}

/// Makes inputs.
#[derive(Debug)]
pub struct Mutator<'a> {
    seeds: &'a [Vec<u8>],
    numbers: Numbers,
}

impl<'a> Mutator<'a> {
    pub const fn new(seeds: &'a [Vec<u8>], start: u64) -> Mutator<'a> {
        Mutator {
            seeds,
            numbers: Numbers::from(start),
        }
    }

    /// A seed after a few mutations, most often few.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.seed().to_vec();
        let mutations = 1 + self.numbers.below(2) + self.numbers.below(2) * self.numbers.below(12);
        for _ in 0..mutations {
            self.mutate(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn seed(&mut self) -> &'a [u8] {
        let index = self.numbers.below(self.seeds.len());
        self.seeds.get(index).map_or(&[], Vec::as_slice)
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.numbers.below(input.len() + 1);
        let range = at..(at + 1 + self.numbers.below(8)).min(input.len()).max(at);
        match self.numbers.below(10) {
            0 => self.flip_a_bit(input, at),
            1 => self.replace_a_byte(input, at),
            2 => input.insert(at, MARKS[self.numbers.below(MARKS.len())]),
            3 => insert(
                input,
                at,
                PIECES[self.numbers.below(PIECES.len())].as_bytes(),
            ),
            4 => drop(input.drain(range)),
            5 => self.repeat(input, range),
            6 => self.move_range(input, range),
            7 => self.splice(input, at),
            8 => self.change_a_number(input),
            _ => self.cut(input, at),
        }
    }

    fn flip_a_bit(&mut self, input: &mut [u8], at: usize) {
        let bit = 1 << self.numbers.below(8);
        if let Some(byte) = input.get_mut(at) {
            *byte ^= bit;
        }
    }

    fn replace_a_byte(&mut self, input: &mut [u8], at: usize) {
        let mark = MARKS[self.numbers.below(MARKS.len())];
        if let Some(byte) = input.get_mut(at) {
            *byte = mark;
        }
    }

    fn repeat(&mut self, input: &mut Vec<u8>, range: std::ops::Range<usize>) {
        let piece = input[range.clone()].repeat(1 + self.numbers.below(40));
        insert(input, range.end, &piece);
    }

    fn move_range(&mut self, input: &mut Vec<u8>, range: std::ops::Range<usize>) {
        let piece: Vec<u8> = input.drain(range).collect();
        let to = self.numbers.below(input.len() + 1);
        insert(input, to, &piece);
    }

    /// The beginning of this one and the end of another one.
    fn splice(&mut self, input: &mut Vec<u8>, at: usize) {
        let other = self.seed();
        let from = self.numbers.below(other.len() + 1);
        input.truncate(at);
        input.extend_from_slice(&other[from..]);
    }

    /// The digits at some place become another number.
    fn change_a_number(&mut self, input: &mut Vec<u8>) {
        let digits = input.iter().filter(|byte| byte.is_ascii_digit()).count();
        let wanted = self.numbers.below(digits);
        let places = input.iter().enumerate();
        let Some((at, _)) = places.filter(|(_, byte)| byte.is_ascii_digit()).nth(wanted) else {
            return;
        };
        let number = match self.numbers.below(4) {
            0 => self.numbers.next(),
            1 => u64::MAX - self.numbers.below(2) as u64,
            2 => 1 << self.numbers.below(64),
            _ => self.numbers.below(300) as u64,
        };
        input.remove(at);
        insert(input, at, number.to_string().as_bytes());
    }

    fn cut(&mut self, input: &mut Vec<u8>, at: usize) {
        if self.numbers.below(2) == 0 {
            input.truncate(at);
        } else {
            input.drain(..at);
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    input.splice(at..at, piece.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_start_makes_the_same_inputs_and_they_differ() {
        let seeds = vec![b"agent:main:telegram:dm:1".to_vec(), b"7d".to_vec()];
        let (mut one, mut two) = (Mutator::new(&seeds, 7), Mutator::new(&seeds, 7));
        let inputs: Vec<Vec<u8>> = (0..1_000).map(|_| one.next_input()).collect();
        assert!(inputs.iter().all(|input| *input == two.next_input()));
        let mut distinct = inputs.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 600, "{}", distinct.len());
        assert!(inputs.iter().all(|input| input.len() <= LONGEST));
    }

    #[test]
    fn without_seeds_there_are_inputs_all_the_same() {
        let mut mutator = Mutator::new(&[], 1);
        assert!((0..1_000).any(|_| !mutator.next_input().is_empty()));
    }
}
