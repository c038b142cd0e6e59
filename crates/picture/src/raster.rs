//! Pictures as PNG, drawn with fonts that come with the program, so that every machine draws the same picture.

use std::sync::{Arc, LazyLock};

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree, fontdb::Database},
};

use crate::svg::{Picture, STYLE};

/// Pixels of a PNG for each pixel of the picture.
const SCALE: u16 = 2;
/// Largest width and height of a PNG, in pixels.
const MOST_PIXELS: u32 = 16_000;

const SANS: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("../fonts/DejaVuSans-Bold.ttf");
const MONO: &[u8] = include_bytes!("../fonts/DejaVuSansMono.ttf");

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    for font in [SANS, BOLD, MONO] {
        fonts.load_font_data(font.to_vec());
    }
    fonts.set_sans_serif_family("DejaVu Sans");
    fonts.set_monospace_family("DejaVu Sans Mono");
    Arc::new(fonts)
});

/// Style of pictures on white paper, without variables: renderers of SVG know neither those nor themes. Nobody points at paper.
static PAPER_STYLE: LazyLock<String> =
    LazyLock::new(|| on_paper(STYLE) + ".assay-picture .hint { display: none; }\n");

/// Error of drawing a picture as PNG.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The picture is no SVG that the renderer reads, which never happens.
    #[error("failed to read the picture: {0}")]
    Unreadable(#[from] resvg::usvg::Error),
    /// The picture is too large.
    #[error(
        "the picture has {width} x {height} pixels: at most {MOST_PIXELS} x {MOST_PIXELS} are drawn"
    )]
    TooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The pixels cannot be written as PNG, which never happens.
    #[error("failed to write the picture: {0}")]
    Unwritable(String),
}

impl Picture {
    /// Draws the picture on white paper and returns it as a PNG file, with two pixels for each of the picture.
    ///
    /// # Errors
    ///
    /// Returns an error if the picture is larger than 16,000 pixels in one direction.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        let options = Options {
            fontdb: Arc::clone(&FONTS),
            font_family: "DejaVu Sans".into(),
            ..Options::default()
        };
        let tree = Tree::from_str(&self.styled_file(&PAPER_STYLE), &options)?;
        let size = tree.size().to_int_size();
        let (width, height) = (size.width() * u32::from(SCALE), size.height() * u32::from(SCALE));
        let is_drawable = width <= MOST_PIXELS && height <= MOST_PIXELS;
        let pixmap = if is_drawable { Pixmap::new(width, height) } else { None };
        let mut pixmap = pixmap.ok_or(PngError::TooLarge { width, height })?;
        let scale = Transform::from_scale(SCALE.into(), SCALE.into());
        resvg::render(&tree, scale, &mut pixmap.as_mut());
        pixmap.encode_png().map_err(|error| PngError::Unwritable(error.to_string()))
    }
}

/// Returns a style sheet without the rules of `@media`, and with the values of variables in place of their names.
fn on_paper(style: &str) -> String {
    let mut plain = String::with_capacity(style.len());
    let mut depth = 0_u32;
    // Braces are counted: the rules of `@media` are those in braces of braces.
    for line in style.lines() {
        let is_media = line.starts_with("@media");
        if depth == 0 && !is_media {
            plain.push_str(line);
            plain.push('\n');
        }
        if is_media || depth > 0 {
            depth += braces(line, '{');
            depth = depth.saturating_sub(braces(line, '}'));
        }
    }
    let mut variables: Vec<(String, String)> = Vec::new();
    for part in plain.split([';', '{', '}']) {
        if let Some((name, value)) = part.trim().split_once(':')
            && name.starts_with("--")
        {
            variables.push((format!("var({name})"), value.trim().to_owned()));
        }
    }
    variables.iter().fold(plain, |style, (name, value)| style.replace(name, value))
}

fn braces(line: &str, brace: char) -> u32 {
    u32::try_from(line.matches(brace).count()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{SvgElements, Tenths};

    fn picture(height: i64, text: &str) -> Picture {
        let mut elements = SvgElements::default();
        elements.text("head", Tenths::px(10), Tenths::px(30), text);
        Picture::new(200, height, "A text".into(), elements.finish())
    }

    /// Width, height and number of pixels that are not white.
    fn drawn(png: &[u8]) -> (u32, u32, usize) {
        let pixels = Pixmap::decode_png(png).unwrap();
        let inked = pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count();
        (pixels.width(), pixels.height(), inked)
    }

    #[test]
    fn a_picture_is_drawn_with_its_own_fonts() {
        let (width, height, inked) = drawn(&picture(40, "Harbor Lane").png().unwrap());
        assert_eq!((width, height), (400, 80));
        assert!(inked > 500, "{inked}");
        assert_eq!(drawn(&picture(40, "").png().unwrap()).2, 0);
        let hostile = picture(40, "</text></svg><script>alert(1)</script>").png().unwrap();
        assert!(drawn(&hostile).2 > 500, "shown as text");
        assert_eq!(picture(40, "a").png().unwrap(), picture(40, "a").png().unwrap());
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused() {
        let error = picture(9_000, "a").png().unwrap_err();
        assert!(error.to_string().contains("400 x 18000 pixels"), "{error}");
    }

    #[test]
    fn the_style_on_paper_has_neither_themes_nor_variables() {
        assert!(
            !PAPER_STYLE.contains("@media") && !PAPER_STYLE.contains("var("),
            "{}",
            *PAPER_STYLE
        );
        let style = ".a {\n  --x: #111; --y: #222;\n}\n@media (dark) {\n  .a { --x: #fff; }\n}\n.b { fill: var(--x); }\n";
        assert!(on_paper(style).ends_with(".b { fill: #111; }\n"));
    }
}
