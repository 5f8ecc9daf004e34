package io.pyhudi.truth;

import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** What is said of one predicate: a byte that tells which of the two, and its parts. */
sealed interface Judgement {
  void write(DataOutputStream out) throws IOException;

  /**
   * @param request the handler's question to the pruning service; null: it asks none
   * @param outcomes of each way of evaluation
   */
  record Answer(byte[] request, List<Outcome> outcomes) implements Judgement {
    @Override
    public void write(DataOutputStream out) throws IOException {
      out.writeByte(1);
      out.writeInt(request == null ? -1 : request.length);
      if (request != null) {
        out.write(request);
      }
      for (Outcome outcome : outcomes) {
        outcome.write(out);
      }
    }
  }

  /** The predicate does not compile, for this reason. */
  record Refusal(String reason) implements Judgement {
    @Override
    public void write(DataOutputStream out) throws IOException {
      out.writeByte(0);
      writeText(out, reason);
    }
  }

  /**
   * The result of one way of evaluation.
   *
   * @param truths one of {@link Evaluation}'s truths for each row; null: it fails
   * @param failure why it fails
   */
  record Outcome(byte[] truths, String failure) {
    void write(DataOutputStream out) throws IOException {
      out.writeByte(truths == null ? 0 : 1);
      if (truths == null) {
        writeText(out, failure);
      } else {
        out.write(truths);
      }
    }
  }

  private static void writeText(DataOutputStream out, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(bytes.length);
    out.write(bytes);
  }
}
