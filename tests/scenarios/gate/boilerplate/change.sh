printf "// Licensed to everybody.\n// No warranty.\nstruct Alpha { beta: u8 }\nstruct Gamma { delta: u16 }\nstruct Eps { zeta: u32 }\n" > src/other.rs
