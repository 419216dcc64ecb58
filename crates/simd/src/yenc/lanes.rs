//! [`Block`]: a block in several vector registers, decoded by the same code for every width.
//!
//! SSSE3, AVX2 and NEON use it; each implements [`Registers`], the operations on one register. The
//! bytes before are compared as vectors, not as bit masks: making a mask is slow on these
//! processors, so that only the gaps get one.

use super::blocks::{BLOCK, Room, Window};
use super::{ESCAPE_SHIFT, SHIFT};

/// Operations on one vector register, of which a block fills `LANES`.
///
/// A comparison sets all bits of each byte for which it holds, and clears those of the others. All
/// methods have to be inlined into a function that has the processor's features enabled.
pub(super) trait Registers<const LANES: usize>: Copy {
    type Register: Copy;

    /// Loads the bytes of `window` from `at` on.
    fn load(self, window: &Window, at: usize) -> Self::Register;

    /// A register with `byte` in every place.
    fn splat(self, byte: u8) -> Self::Register;

    fn equal(self, a: Self::Register, b: Self::Register) -> Self::Register;

    fn and(self, a: Self::Register, b: Self::Register) -> Self::Register;

    fn or(self, a: Self::Register, b: Self::Register) -> Self::Register;

    /// The bits of `a` that are not in `b`.
    fn and_not(self, a: Self::Register, b: Self::Register) -> Self::Register;

    /// Adds the bytes in the same place, modulo 256.
    fn add(self, a: Self::Register, b: Self::Register) -> Self::Register;

    /// Subtracts each byte of `b` from the one in the same place of `a`, modulo 256.
    fn sub(self, a: Self::Register, b: Self::Register) -> Self::Register;

    /// Compares each byte with `=`, CR and LF.
    fn specials(self, bytes: Self::Register) -> Self::Register;

    /// Whether the comparison holds for any byte.
    fn any(self, compared: Self::Register) -> bool;

    /// One bit for each byte of the block.
    fn mask(self, compared: [Self::Register; LANES]) -> u64;

    /// Stores the bytes that `stay`, without gaps, into `room` from `at` on and returns where they
    /// end. The lowest bit of `stay` stands for the first byte; bits beyond the register are
    /// ignored. May overwrite as many bytes of `room` as the register has.
    fn compress(self, bytes: Self::Register, stay: u64, room: &mut Room, at: usize) -> usize;
}

/// Defines methods of [`Registers`] that are one intrinsic of two operands.
macro_rules! binary_operations {
    ($($method:ident = $intrinsic:ident,)*) => {
        $(
            #[inline(always)]
            fn $method(self, a: Self::Register, b: Self::Register) -> Self::Register {
                // SAFETY: `self` proves that the processor has the feature of the intrinsic.
                unsafe { $intrinsic(a, b) }
            }
        )*
    };
}
pub(super) use binary_operations;

/// Implements [`Vector`](super::blocks::Vector) for a proof that implements [`Registers`] with
/// `$lanes` registers per block.
macro_rules! lanes_unit {
    ($proof:ident, $lanes:ident, $features:literal) => {
        $crate::yenc::blocks::block_loop!($proof, $features);

        impl $crate::yenc::blocks::Vector for $proof {
            type Block = $crate::yenc::lanes::Block<Self, $lanes>;

            #[inline(always)]
            fn load(self, window: &Window) -> Self::Block {
                Self::Block::load(self, window)
            }

            #[inline(always)]
            fn gaps(self, block: Self::Block) -> u64 {
                block.gaps()
            }

            #[inline(always)]
            fn is_suspect(self, block: Self::Block) -> bool {
                block.is_suspect()
            }

            #[inline(always)]
            fn oddities(self, window: &Window) -> u64 {
                #[cold]
                #[target_feature(enable = $features)]
                fn oddities(proof: $proof, window: &Window) -> u64 {
                    $crate::yenc::lanes::Block::<_, $lanes>::load(proof, window).oddities()
                }
                // SAFETY: `self` proves that the processor has the features.
                unsafe { oddities(self, window) }
            }

            #[inline(always)]
            fn put(self, block: Self::Block, stay: u64, room: &mut Room) {
                block.put(stay, room);
            }
        }
    };
}
pub(super) use lanes_unit;

/// A block in registers. All methods have to be inlined, as those of [`Registers`].
#[derive(Clone, Copy)]
pub(super) struct Block<U: Registers<LANES>, const LANES: usize> {
    unit: U,
    bytes: [U::Register; LANES],
    /// The byte before each of `bytes`.
    before: [U::Register; LANES],
}

impl<U: Registers<LANES>, const LANES: usize> Block<U, LANES> {
    const LANE: usize = BLOCK / LANES;

    #[inline(always)]
    pub(super) fn load(unit: U, window: &Window) -> Self {
        let [mut bytes, mut before] = [[unit.splat(0); LANES]; 2];
        for lane in 0..LANES {
            before[lane] = unit.load(window, lane * Self::LANE);
            bytes[lane] = unit.load(window, lane * Self::LANE + 1);
        }
        Self { unit, bytes, before }
    }

    #[inline(always)]
    pub(super) fn gaps(self) -> u64 {
        let mut gaps = self.bytes;
        for (bytes, before) in gaps.iter_mut().zip(self.before) {
            *bytes = self.unit.and_not(self.unit.specials(*bytes), self.is(before, b'='));
        }
        self.unit.mask(gaps)
    }

    /// Finds `=` and dots after `=` or LF. The dot after `=` is a false alarm, which saves an
    /// operation; encoders do not write it.
    #[inline(always)]
    pub(super) fn is_suspect(self) -> bool {
        let mut any = self.unit.splat(0);
        for (bytes, before) in self.bytes.into_iter().zip(self.before) {
            let here = self.unit.or(self.is(bytes, b'='), self.is(bytes, b'.'));
            let behind = self.unit.or(self.is(before, b'='), self.is(before, b'\n'));
            any = self.unit.or(any, self.unit.and(here, behind));
        }
        self.unit.any(any)
    }

    #[inline(always)]
    pub(super) fn oddities(self) -> u64 {
        let mut odd = self.bytes;
        for (bytes, before) in odd.iter_mut().zip(self.before) {
            let (escapes, starts) = (self.is(*bytes, b'='), self.is(before, b'\n'));
            let dots = self.unit.and(self.is(*bytes, b'.'), starts);
            let behind = self.unit.or(self.is(before, b'='), starts);
            *bytes = self.unit.or(dots, self.unit.and(escapes, behind));
        }
        self.unit.mask(odd)
    }

    #[inline(always)]
    pub(super) fn put(self, stay: u64, room: &mut Room) {
        let mut written = 0;
        for lane in 0..LANES {
            let lowered = self.lower(self.bytes[lane], self.before[lane]);
            written = self.unit.compress(lowered, stay >> (lane * Self::LANE), room, written);
        }
    }

    /// The sum comes first: on AVX2 the compiler makes one blend of it, 2 % fewer instructions per
    /// block than with two subtractions.
    #[inline(always)]
    fn lower(self, bytes: U::Register, before: U::Register) -> U::Register {
        let further = self.unit.and(self.is(before, b'='), self.unit.splat(ESCAPE_SHIFT));
        self.unit.sub(bytes, self.unit.add(further, self.unit.splat(SHIFT)))
    }

    #[inline(always)]
    fn is(self, bytes: U::Register, byte: u8) -> U::Register {
        self.unit.equal(bytes, self.unit.splat(byte))
    }
}

/// [`Registers::compress`] for a register of 16 bytes. Each half holds those of its eight bytes that
/// `stay` from its lowest byte on, and anything above them. The second half is stored where the
/// bytes of the first end, over the rest of it.
#[inline(always)]
pub(super) fn store_halves(halves: [u64; 2], stay: u16, room: &mut Room, at: usize) -> usize {
    let room: &mut [u8; 16] = room[at..].first_chunk_mut().expect(FITS);
    let [low, _] = stay.to_le_bytes();
    room[..8].copy_from_slice(&halves[0].to_le_bytes());
    room[low.count_ones() as usize..][..8].copy_from_slice(&halves[1].to_le_bytes());
    at + stay.count_ones() as usize
}

/// Why every store of [`Registers::compress`] lies within the room.
pub(super) const FITS: &str = "registers give no more bytes than they have";
