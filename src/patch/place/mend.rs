//! The defects of transcription that are mended, each with its name.

/// One defect that was mended. The words are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mend {
    /// Labels of the page stood before the first line
    PageLabels,
    /// A fence inside of the patch ended its block too early
    Rejoined,
    /// Every line was numbered
    LineNumbers,
    /// Every line was indented or quoted
    Indentation,
    HtmlEscapes,
    LineEndings,
    /// The `diff --git` line was missing
    GitHeader,
    /// The file was named in the words before the block
    FileName,
    /// The names had no `a/` and `b/`
    NamePrefix,
    Counts,
    /// The line number was missing or wrong
    LineNumber,
    /// Context lines had lost their first space
    LostSpaces,
    TrailingSpace,
    Tabs,
    /// Quotes, dashes and spaces were replaced by typographic ones
    Typography,
    ElidedContext,
    DroppedBlankLines,
    /// The file has no newline at its end, and the patch did not say so
    FinalNewline,
    /// The file had changed since, and both changes were merged
    ThreeWay,
}

impl Mend {
    pub const fn as_str(self) -> &'static str {
        match self {
            Mend::PageLabels => "page_labels",
            Mend::Rejoined => "rejoined",
            Mend::LineNumbers => "line_numbers",
            Mend::Indentation => "indentation",
            Mend::HtmlEscapes => "html_escapes",
            Mend::LineEndings => "line_endings",
            Mend::GitHeader => "git_header",
            Mend::FileName => "file_name",
            Mend::NamePrefix => "name_prefix",
            Mend::Counts => "counts",
            Mend::LineNumber => "line_number",
            Mend::LostSpaces => "lost_spaces",
            Mend::TrailingSpace => "trailing_space",
            Mend::Tabs => "tabs",
            Mend::Typography => "typography",
            Mend::ElidedContext => "elided_context",
            Mend::DroppedBlankLines => "dropped_blank_lines",
            Mend::FinalNewline => "final_newline",
            Mend::ThreeWay => "three_way",
        }
    }
}
