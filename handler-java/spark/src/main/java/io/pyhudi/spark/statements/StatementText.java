package io.pyhudi.spark.statements;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The words of a statement, as far as its kind and its table follow from them. Everything else of
 * the grammar is known to the Python process alone, which runs the statement.
 */
final class StatementText {
  private static final Pattern TOKEN =
      Pattern.compile(
          "--[^\\n]*|/\\*.*?\\*/|\\s+"
              + "|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`(?:[^`]|``)*`"
              + "|[\\p{L}\\p{N}_]+|.",
          Pattern.DOTALL);

  private final List<String> tokens;

  private StatementText(List<String> tokens) {
    this.tokens = tokens;
  }

  /** Returns the first tokens of a statement, without comments. */
  static StatementText of(String text, int most) {
    List<String> tokens = new ArrayList<>();
    Matcher found = TOKEN.matcher(text);
    while (tokens.size() < most && found.find()) {
      String token = found.group();
      if (!(token.startsWith("--") || token.startsWith("/*") || token.trim().isEmpty())) {
        tokens.add(token);
      }
    }
    return new StatementText(tokens);
  }

  /** Returns whether the statement begins with these words, which are in upper case. */
  boolean startsWith(List<String> words) {
    for (int i = 0; i < words.size(); i++) {
      if (!isWord(i, words.get(i))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the parts of the name that follows the first of these words, or of the name at the
   * position itself if there are no words. Empty: there is none, or it is a path in quotes.
   *
   * @param from the position of the first token to look at
   */
  List<String> nameAfter(List<String> words, int from) {
    int at = from;
    while (!words.isEmpty() && at < tokens.size() && !words.contains(upper(at))) {
      at++;
    }
    at += words.isEmpty() ? 0 : 1;
    if (isWord(at, "TABLE") && at + 1 < tokens.size() && !tokens.get(at + 1).equals(".")) {
      at++;
    }
    List<String> parts = new ArrayList<>();
    while (at < tokens.size() && isName(tokens.get(at))) {
      parts.add(unquoted(tokens.get(at)));
      at++;
      if (at == tokens.size() || !tokens.get(at).equals(".")) {
        return parts;
      }
      at++;
    }
    return Collections.emptyList();
  }

  private boolean isWord(int at, String word) {
    return at < tokens.size() && upper(at).equals(word);
  }

  private String upper(int at) {
    return tokens.get(at).toUpperCase(Locale.ROOT);
  }

  private static boolean isName(String token) {
    char first = token.charAt(0);
    return first == '`' || first == '_' || Character.isLetterOrDigit(first);
  }

  private static String unquoted(String token) {
    return token.charAt(0) == '`'
        ? token.substring(1, token.length() - 1).replace("``", "`")
        : token;
  }
}
