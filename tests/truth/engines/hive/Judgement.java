package io.pyhudi.truth;

import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** What is said of one predicate: a byte that tells which of the two, and its parts. */
sealed interface Judgement {
  void write(DataOutputStream out) throws IOException;

  /**
   * @param truths one of {@link Evaluation}'s truths for each row
   * @param filter the handler's question to the pruning service; null: it asks none
   */
  record Answer(byte[] truths, byte[] filter) implements Judgement {
    @Override
    public void write(DataOutputStream out) throws IOException {
      out.writeByte(1);
      out.write(truths);
      out.writeInt(filter == null ? -1 : filter.length);
      if (filter != null) {
        out.write(filter);
      }
    }
  }

  /** Why there is no answer. */
  record Refusal(String reason) implements Judgement {
    @Override
    public void write(DataOutputStream out) throws IOException {
      byte[] text = reason.getBytes(StandardCharsets.UTF_8);
      out.writeByte(0);
      out.writeInt(text.length);
      out.write(text);
    }
  }
}
